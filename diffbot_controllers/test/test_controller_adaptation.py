# SPDX-License-Identifier: Apache-2.0
"""Controllers' nodes with live parameters: what they follow, tell, keep and wait for."""

import math

import numpy as np
import pytest
import yaml

rclpy = pytest.importorskip("rclpy")

from controller_graph import controllers  # noqa: E402
from geometry_msgs.msg import TwistStamped  # noqa: E402

from diffbot_controllers.nodes.backstep_node import BackstepNode  # noqa: E402
from diffbot_controllers.nodes.linearizing_node import LinearizingNode  # noqa: E402
from diffbot_controllers.nodes.pose_node import PoseNode  # noqa: E402
from diffbot_controllers.parameter_reader import ParameterCheckpoint  # noqa: E402
from diffbot_description import DynamicParameters as InUse  # noqa: E402
from diffbot_description import load_robot  # noqa: E402
from diffbot_ident.interpretation.fleet_prior import FleetPrior, write_prior  # noqa: E402
from diffbot_msgs.msg import AdaptationStatus, DynamicParameters  # noqa: E402
from diffbot_node import seconds, to_stamp  # noqa: E402
from pose2d_trajectories.pose_message import Pose2D  # noqa: E402

NOMINAL = (0.0844, -3.7706, 2.6468, -16.084)
NO_FRICTION = (0.0, 0.0, 0.0, 0.0)


@pytest.fixture
def make():
    yield from controllers()


class Estimator:
    """Somebody who publishes estimates for a graph, and hears what becomes of them."""

    def __init__(self, graph):
        self.graph = graph
        self.topic = graph.publisher(DynamicParameters, "dynamic_parameters")
        self.judged = []
        graph._listen(AdaptationStatus, f"{graph.name}/adaptation", self.judged)
        graph.until(lambda: graph.peer.count_publishers(f"{graph.name}/adaptation"), "a publisher")

    def offer(self, factor=1.0, stamp=None, **more):
        values = dict(zip(("k5", "k6", "k7", "k8"), (factor * k for k in NOMINAL), strict=True))
        message = DynamicParameters(
            **{"state": DynamicParameters.ESTIMATED, "coverage": [1.0] * 4, **values, **more},
            covariance_diagonal=[(1e-3 * k) ** 2 for k in NOMINAL],
        )
        time = self.graph.robot.sample.stamp if stamp is None else stamp
        message.header.stamp = to_stamp(time)
        self.topic.publish(message)
        self.graph.spin(0.02)


def drive(graph):
    """A far goal; driving begins."""
    if graph.name == "linearizing_controller":
        topic = graph.publisher(TwistStamped, "cmd_vel")
        graph.spin()
        topic.publish(TwistStamped())
    else:
        graph.publisher(Pose2D, f"{graph.name}/command").publish(Pose2D(x=30.0))
    graph.spin()
    graph.run(0.1)


@pytest.mark.parametrize("kind", [BackstepNode, PoseNode, LinearizingNode])
def test_all_controllers_begin_with_the_nominal_parameters_and_follow(make, kind):
    graph = make(kind, parameters="adaptive", reference_timeout=10.0)
    assert graph.node.dynamics.k7 == pytest.approx(NOMINAL[2], rel=1e-4)
    estimator = Estimator(graph)
    drive(graph)
    for _ in range(4):
        estimator.offer(0.9)
        graph.run(0.3)
    law = graph.node.law
    used = law.dynamics
    assert used == graph.node.dynamics
    # 0.3 s at 20 % per s; the first estimate only starts the clock.
    assert used.k7 == pytest.approx(0.9 * NOMINAL[2], rel=0.01)
    graph.until(lambda: len(estimator.judged) == 4, "judgements")
    last = estimator.judged[-1]
    assert last.state == AdaptationStatus.FOLLOWING and last.reason == "" and all(last.passed)
    assert list(last.in_use) == [used.k5, used.k6, used.k7, used.k8]
    assert list(last.offered) == pytest.approx([0.9 * k for k in NOMINAL])
    assert list(last.offered_std) == pytest.approx([1e-3 * abs(k) for k in NOMINAL])


def test_a_refusal_is_counted_told_and_changes_nothing(make):
    graph = make(BackstepNode, parameters="adaptive")
    estimator = Estimator(graph)
    drive(graph)
    before = graph.node.dynamics
    estimator.offer(k7=math.nan)
    graph.run(0.2)
    estimator.offer(verification=DynamicParameters.REFUTED)
    graph.run(0.2)
    graph.until(lambda: len(estimator.judged) == 2, "judgements")
    assert [message.refused for message in estimator.judged] == [1, 2]
    shut = [
        [gate for gate, passed in zip(message.gates, message.passed, strict=True) if not passed]
        for message in estimator.judged
    ]
    assert shut == [["finite"], ["verified"]]
    assert "k7 = nan" in estimator.judged[0].reason
    assert graph.node.dynamics == before


def test_what_the_law_refuses_is_not_said_to_be_in_use_nor_kept(make, tmp_path, capfd):
    path = tmp_path / "kept.yaml"
    graph = make(BackstepNode, parameters="adaptive", last_good=path)
    estimator = Estimator(graph)
    drive(graph)
    law, before = graph.node.law, graph.node.dynamics

    class Stubborn(type(law)):
        @property
        def dynamics(self):
            return before

        @dynamics.setter
        def dynamics(self, dynamics):
            raise ValueError("k7 does not suit")

    law.__class__ = Stubborn
    for _ in range(3):
        estimator.offer(0.9)
        graph.run(0.3)
    graph.until(lambda: len(estimator.judged) == 3, "judgements")
    last = estimator.judged[-1]
    assert (last.refused, last.reason, last.state) == (3, "k7 does not suit", last.WAITING)
    assert list(last.in_use) == [before.k5, before.k6, before.k7, before.k8]
    assert graph.node.dynamics == before
    graph.node.close()
    assert not path.exists()
    assert "dynamic_parameters refused: k7 does not suit" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("source", "demanded", "used"),
    [
        ("topic", "auto", False),
        ("topic", "never", True),
        ("adaptive", "auto", True),
        ("adaptive", "always", False),
    ],
)
def test_without_a_trusted_start_or_when_told_so_only_verified_ones_count(
    make, source, demanded, used
):
    graph = make(BackstepNode, parameters=source, require_verified=demanded)
    estimator = Estimator(graph)
    for coverage, good in ((0.0, False), (1.0, used)):
        count = len(estimator.judged)
        estimator.offer(coverage=[coverage] * 4)
        graph.until(lambda n=count: len(estimator.judged) > n, "a judgement")
        assert (estimator.judged[-1].refused == count) == good
    assert (graph.node.dynamics is None) == (source == "topic" and not used)
    estimator.offer(verification=DynamicParameters.VERIFIED)
    graph.until(lambda: len(estimator.judged) == 3, "a judgement")
    assert estimator.judged[-1].state == AdaptationStatus.FOLLOWING and graph.node.dynamics


def test_what_was_learnt_is_kept_and_restored_if_it_may_be(make, tmp_path):
    path = tmp_path / "kept.yaml"
    ParameterCheckpoint(str(path), "twil").write(InUse(0.06, -2.6, 1.8, -11.0), NO_FRICTION)
    graph = make(BackstepNode, parameters="adaptive", last_good=path)
    assert graph.node.dynamics.k7 == 1.8
    estimator = Estimator(graph)
    drive(graph)
    for _ in range(3):
        estimator.offer(0.7)
        graph.run(0.3)
    graph.node.close()
    assert ParameterCheckpoint(str(path), "twil").restore() == (graph.node.dynamics, NO_FRICTION)
    assert graph.node.dynamics.k7 > 1.8


def test_kept_parameters_outside_the_band_are_refused(make, tmp_path, capfd):
    path = tmp_path / "kept.yaml"
    ParameterCheckpoint(str(path), "twil").write(InUse(0.06, -2.6, 0.9, -11.0), NO_FRICTION)
    graph = make(BackstepNode, parameters="adaptive", last_good=path)
    assert graph.node.dynamics.k7 == pytest.approx(NOMINAL[2], rel=1e-4)
    assert "last_good refused: k7 = 0.9: outside the band" in capfd.readouterr().err


def test_a_prior_is_begun_with(make, tmp_path):
    path = tmp_path / "prior_twil.yaml"
    mean = tuple(1.1 * value for value in NOMINAL)
    rows = np.diag([(0.05 * value) ** 2 for value in mean]).tolist()
    robot = load_robot("twil").wheels
    about = {"wheel_radius": robot.radius, "track": robot.separation, "date": "2031-05-04"}
    write_prior(path, FleetPrior("twil", mean, tuple(map(tuple, rows)), 40, **about))
    graph = make(BackstepNode, parameters="adaptive", prior=path)
    assert tuple(graph.node.dynamics) == pytest.approx(mean)


def test_in_lock_step_a_joint_state_waits_for_the_estimates_that_count_at_it(make):
    graph = make(BackstepNode, parameters="adaptive", wait_for_estimates=True, estimate_period=0.05)
    assert "no node publishes dynamic_parameters" in graph.node.waits_for().reason
    estimator = Estimator(graph)
    drive(graph)  # 0.1 s, the delay, in which none counts
    estimator.offer(stamp=0.0)
    graph.run(0.05)
    estimator.offer(stamp=1e6)  # by another clock: it tells nothing of those that are to come
    count = len(graph.commands)
    graph.publish_state()
    graph.spin(0.1)
    assert len(graph.commands) == count and graph.node.loop.pending
    assert (
        "no dynamic_parameters for the joint state" in graph.node.awaits(graph.robot.sample).reason
    )
    estimator.offer(stamp=0.05)
    graph.until(lambda: len(graph.commands) == count + 1, "the answer")


def test_an_estimate_by_another_clock_is_left_out_and_does_not_block_the_others(make, capfd):
    graph = make(BackstepNode, parameters="adaptive")
    estimator = Estimator(graph)
    drive(graph)
    estimator.offer(0.6, stamp=1e6)
    for _ in range(3):
        estimator.offer(0.9)
        graph.run(0.3)
    graph.until(lambda: len(estimator.judged) == 3, "judgements")
    assert graph.node.dynamics.k7 == pytest.approx(0.9 * NOMINAL[2], rel=0.01)
    assert "ahead of the joint states ignored, limit 1 s" in capfd.readouterr().err


def test_after_a_reset_of_time_the_estimates_of_before_count_no_more(make):
    graph = make(BackstepNode, parameters="adaptive", wait_for_estimates=True, estimate_period=0.05)
    estimator = Estimator(graph)
    drive(graph)
    for _ in range(40):
        estimator.offer()
        graph.step()
    graph.until(lambda: len(estimator.judged) >= 30, "judgements")  # at 0.49 s those up to 0.39 s
    count = len(estimator.judged)
    # One joint state of before may be late; the second shows that time was reset.
    for stamp in (0.2, 0.21):
        estimator.offer(stamp=stamp)
        graph.step(stamp=stamp)
    graph.step(stamp=0.22)
    graph.publish_state(stamp=0.37)  # needs one later than 0.22 s
    graph.spin(0.1)
    assert graph.node.loop.pending
    answered = len(graph.commands)
    estimator.offer(stamp=0.25)
    graph.until(lambda: len(graph.commands) > answered, "the answer")
    graph.until(lambda: len(estimator.judged) >= count + 3, "judgements")
    graph.spin()
    stamps = [seconds(message.header.stamp) for message in estimator.judged[count:]]
    assert stamps == pytest.approx([0.2, 0.21, 0.25])


def coulomb(graph):
    return tuple(wheel.coulomb for wheel in graph.node.law.friction)


@pytest.mark.parametrize("kind", [BackstepNode, PoseNode, LinearizingNode])
def test_live_friction_reaches_the_law_beside_the_load_but_not_where_it_is_not_known(make, kind):
    graph = make(kind, parameters="adaptive", reference_timeout=10.0)
    assert coulomb(graph) == (0.0, 0.0)
    estimator = Estimator(graph)
    drive(graph)
    for _ in range(3):
        estimator.offer(
            0.95,
            friction=[0.0, 0.0, 0.3, 0.4],
            friction_variance=[1e-8, 1e-8, 1e-6, math.inf],
        )
        graph.run(0.3)
    left, right = coulomb(graph)
    # 0.6 s at 20 % a second of 2 % of the 5 N m that the motors have.
    assert left == pytest.approx(2 * 0.3 * 0.2 * 0.1, rel=0.05) and right == 0.0
    assert graph.node.law.dynamics.k7 == pytest.approx(0.95 * NOMINAL[2], rel=0.01)


def test_a_refused_set_takes_its_friction_with_it_and_none_means_none(make):
    graph = make(BackstepNode, parameters="adaptive")
    estimator = Estimator(graph)
    drive(graph)
    for _ in range(2):
        estimator.offer(
            friction=[0.0, 0.0, 0.3, 0.3],
            friction_variance=[1e-8] * 4,
            verification=DynamicParameters.REFUTED,
        )
        graph.run(0.3)
    assert coulomb(graph) == (0.0, 0.0)


def test_a_controller_begins_with_the_friction_of_its_parameter_file(make, tmp_path):
    path = tmp_path / "identified.yaml"
    names = dict(zip(("k5", "k6", "k7", "k8"), NOMINAL, strict=True))
    friction = {"coulomb_left": {"value": 0.05, "variance": 1e-6}}
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": {**names, "friction": friction}}}))
    graph = make(BackstepNode, parameters=path)
    assert coulomb(graph) == (0.05, 0.0)


def test_friction_none_makes_a_law_that_knows_no_friction(make, tmp_path):
    path = tmp_path / "identified.yaml"
    names = dict(zip(("k5", "k6", "k7", "k8"), NOMINAL, strict=True))
    path.write_text(
        yaml.safe_dump({"/**": {"ros__parameters": {**names, "friction": {"coulomb_left": 0.05}}}})
    )
    graph = make(BackstepNode, parameters=path, friction="none")
    assert coulomb(graph) == (0.0, 0.0)
