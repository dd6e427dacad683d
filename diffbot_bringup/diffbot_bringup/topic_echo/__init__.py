"""Prints the messages of a topic where ``ros2 topic echo`` is not installed."""

from .message_text import to_csv, to_yaml
from .topic import Topic, TopicError

__all__ = ["Topic", "TopicError", "to_csv", "to_yaml"]
