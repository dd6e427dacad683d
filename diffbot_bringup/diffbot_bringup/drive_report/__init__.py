"""What a driving run shows and leaves behind: table, summary.json, pictures and an animation.

Everything here but `drive_report_node` and `controller_conversions` is plain Python: no ROS needed.
"""
