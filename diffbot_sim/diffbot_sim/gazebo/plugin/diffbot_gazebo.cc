// SPDX-License-Identifier: Apache-2.0
// Lets the program that started gzserver drive the robot, step by step.
//
// The two communicate over a socket that the server inherits (environment variable DIFFBOT_SOCKET).
// The physics stands still until a request sets the number of steps and the torques that act on the
// wheels in each of them; the answer is the state after the last one. In between, the server's loop
// keeps running, so that its windows stay alive. gazebo/server.py describes the messages.

#include <gazebo/common/Events.hh>
#include <gazebo/common/Plugin.hh>
#include <gazebo/physics/physics.hh>
#include <gazebo/transport/transport.hh>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

namespace {

using ignition::math::Inertiald;
using ignition::math::MassMatrix3d;
using ignition::math::Pose3d;
using ignition::math::Quaterniond;
using ignition::math::Vector3d;

enum Kind : std::uint32_t { LOOK = 0, STEP = 1, PLACE = 2, PAYLOAD = 3, LINE = 4, FRICTION = 5, MODEL = 6 };

struct Request {
  std::uint32_t kind;
  std::uint32_t steps;
  double values[9];
};

struct Answer {
  std::uint32_t notice;  // 1: sent without a request
  std::uint32_t paused;
  double angle[2], rate[2], position[3], rotation[4], linear[3], angular[3];
};

// Friction of a wheel; see FrictionLaw in diffbot_description. N m s/rad, N m and rad/s.
struct Friction {
  double viscous = 0.0;
  double sliding[2] = {0.0, 0.0};    // of a wheel that turns forward, backward
  double breakaway[2] = {0.0, 0.0};  // of one at rest, likewise
  double stribeck_velocity = 0.0;    // 0: breakaway and sliding are the same
  double gear_loss = 0.0;            // share of the motor's torque

  double Dry(double speed, int direction) const {
    if (stribeck_velocity == 0.0) return sliding[direction];
    const double ratio = speed / stribeck_velocity;
    return sliding[direction] +
           (breakaway[direction] - sliding[direction]) * std::exp(-ratio * ratio);
  }
};

// The closed form: K5 to K8 as in diffbot_description, radius and half track, m.
struct Model {
  double k5 = 0.0, k6 = 0.0, k7 = 1.0, k8 = -1.0, radius = 1.0, half_track = 1.0;
};

// Rounds of the iteration for dry friction of two coupled wheels; each at least halves the error.
constexpr int ROUNDS = 50;
// Period of the server's loop while no request arrives, ms.
constexpr int IDLE = 5;
constexpr double LINE_HEIGHT = 0.002;

}  // namespace

class DiffbotPlugin : public gazebo::WorldPlugin {
 public:
  void Load(gazebo::physics::WorldPtr world, sdf::ElementPtr sdf) override {
    const char *socket = std::getenv("DIFFBOT_SOCKET");
    if (socket == nullptr) {
      gzerr << "DIFFBOT_SOCKET is not set: this world is for the simulator node of diffbot_sim\n";
      return;
    }
    socket_ = std::atoi(socket);
    world_ = world;
    robot_name_ = sdf->Get<std::string>("robot");
    joint_names_ = {sdf->Get<std::string>("left_joint"), sdf->Get<std::string>("right_joint")};
    // Sensors and windows that connect later must receive the lines, too, hence the long queue.
    node_ = boost::make_shared<gazebo::transport::Node>();
    node_->Init(world->Name());
    lines_ = node_->Advertise<gazebo::msgs::Visual>("~/visual", 100000);
    begin_ = gazebo::event::Events::ConnectWorldUpdateBegin(
        [this](const gazebo::common::UpdateInfo &) { OnBegin(); });
    pause_ = gazebo::event::Events::ConnectPause([this](bool paused) { OnPause(paused); });
  }

 private:
  void OnBegin() {
    if (robot_ == nullptr && !FindRobot()) return;
    if (remaining_ == 0) {
      if (moving_) FinishSteps();
      if (!Listen()) {
        world_->SetPhysicsEnabled(false);
        settled_ = true;
        return;
      }
    }
    world_->SetPhysicsEnabled(true);
    Push();
    Drag();
    --remaining_;
    settled_ = false;
  }

  // Sets the torques of the next step: those of the motors minus friction. Dry friction is the
  // torque that stops the wheel within the step, up to its limit. It is predicted by the closed
  // form; ODE's own joint friction stops a wheel just as accurately, but while it holds one, its
  // solver fails in one of 200 steps, and the robot hops.
  void Push() {
    const double step = world_->Physics()->GetMaxStepSize();
    const double w[2] = {joints_[0]->GetVelocity(0), joints_[1]->GetVelocity(0)};
    double net[2], forward[2], backward[2];
    for (int side : {0, 1}) {
      // Speed at the middle of the step, extrapolated by the last step's change.
      const double middle = w[side] + 0.5 * (w[side] - rate_before_[side]);
      net[side] = torque_[side] + push_[side] - friction_[side].viscous * middle;
      const double lost = friction_[side].gear_loss * std::abs(torque_[side]);
      forward[side] = friction_[side].Dry(middle, 0) + lost;
      backward[side] = friction_[side].Dry(middle, 1) + lost;
      rate_before_[side] = w[side];
    }
    // Speeds after the step without dry friction, and the reduction of a wheel's own and of the
    // other's speed per N m of its friction.
    const auto &m = model_;
    const double v = 0.5 * m.radius * (w[0] + w[1]);
    const double omega = 0.5 * m.radius * (w[1] - w[0]) / m.half_track;
    const double dv = m.k5 * omega * omega + m.k7 * (net[0] + net[1] + m.radius * drag_[0]);
    const double domega = m.k6 * v * omega + m.k8 * (net[0] - net[1]) -
                          m.k8 * m.radius / m.half_track * drag_[1];
    const double scale = step / m.radius;
    const double free[2] = {w[0] + scale * (dv - m.half_track * domega),
                            w[1] + scale * (dv + m.half_track * domega)};
    const double own = scale * (m.k7 - m.half_track * m.k8);
    const double other = scale * (m.k7 + m.half_track * m.k8);
    double dry[2] = {0.0, 0.0};
    for (int round = 0; round < ROUNDS; ++round)
      for (int side : {0, 1})
        dry[side] = std::clamp((free[side] - other * dry[1 - side]) / own, -backward[side],
                               forward[side]);
    for (int side : {0, 1}) joints_[side]->SetForce(0, net[side] - dry[side]);
  }

  // Lets the casters drag: a force along the body, on the ground below its origin, and a moment.
  void Drag() {
    if (drag_ == std::array<double, 2>{}) return;
    const auto pose = body_->WorldPose();
    const double yaw = pose.Rot().Yaw();
    body_->AddForceAtWorldPosition(
        Vector3d(std::cos(yaw) * drag_[0], std::sin(yaw) * drag_[0], 0.0),
        Vector3d(pose.Pos().X(), pose.Pos().Y(), 0.0));
    body_->AddTorque(Vector3d(0.0, 0.0, drag_[1]));
  }

  bool FindRobot() {
    auto robot = world_->ModelByName(robot_name_);
    if (robot == nullptr) return false;
    for (int side : {0, 1}) {
      joints_[side] = robot->GetJoint(joint_names_[side]);
      if (joints_[side] == nullptr) {
        gzerr << "the robot has no joint " << joint_names_[side] << "\n";
        _exit(1);
      }
    }
    body_ = joints_[0]->GetParent();
    bare_ = body_->GetInertial()->Ign();
    robot_ = robot;
    Say(false, world_->IsPaused());
    return true;
  }

  void FinishSteps() {
    bool pause;
    {
      std::lock_guard<std::mutex> lock(pausing_);
      moving_ = false;
      pause = std::exchange(pause_wanted_, false);
    }
    Say(false, pause || world_->IsPaused());
    if (pause) world_->SetPaused(true);
  }

  // Pauses begin only between two requests, so that a request once begun is always answered.
  // Gazebo's window requests them in another thread.
  void OnPause(bool paused) {
    bool later;
    {
      std::lock_guard<std::mutex> lock(pausing_);
      later = paused && moving_;
      if (later) pause_wanted_ = true;
    }
    if (later)
      world_->SetPaused(false);
    else if (robot_ != nullptr)
      Say(true, paused);
  }

  // Serves requests until one moves the robot (true) or none comes (false).
  bool Listen() {
    for (pollfd entry{socket_, POLLIN, 0}; poll(&entry, 1, IDLE) > 0;) {
      Request request;
      // Apply a change only when the contacts are up to date. Otherwise the order in which they are
      // solved, and so the last digits, would depend on how soon after a step the change arrives.
      if (!settled_ && recv(socket_, &request, sizeof request, MSG_PEEK) == sizeof request &&
          (request.kind == PLACE || request.kind == PAYLOAD))
        return false;
      // The program that started the server has gone.
      if (recv(socket_, &request, sizeof request, 0) != sizeof request) _exit(0);
      if (request.kind == STEP) {
        Begin(request);
        return true;
      }
      if (request.kind == PLACE) Place(request.values);
      if (request.kind == PAYLOAD) Load(request.values);
      if (request.kind == LINE) Draw(request.values);
      if (request.kind == FRICTION) SetFriction(request.steps, request.values);
      if (request.kind == MODEL) SetModel(request.values);
      if (request.kind == PLACE || request.kind == PAYLOAD) settled_ = false;
      Say(false, world_->IsPaused());
    }
    return false;
  }

  // Values: torques of the motors left and right (N m), length of a step (s), force (N) and moment
  // (N m) of the casters' drag, further torques of the wheels left and right (N m).
  void Begin(const Request &request) {
    auto physics = world_->Physics();
    torque_ = {request.values[0], request.values[1]};
    drag_ = {request.values[3], request.values[4]};
    push_ = {request.values[5], request.values[6]};
    remaining_ = request.steps;
    {
      std::lock_guard<std::mutex> lock(pausing_);
      moving_ = true;
    }
    if (physics->GetMaxStepSize() != request.values[2])
      physics->SetMaxStepSize(request.values[2]);
  }

  // Values: x, y, z (m), roll, pitch, yaw (rad) of the body, which is then at rest.
  void Place(const double *values) {
    const Pose3d pose(values[0], values[1], values[2], values[3], values[4], values[5]);
    robot_->SetLinkWorldPose(pose, body_);
    robot_->ResetPhysicsStates();
    rate_before_ = {};
  }

  // Values: as the members of Friction; `steps` is the wheel, 0 left or 1 right.
  void SetFriction(std::uint32_t side, const double *values) {
    friction_[side % 2] = {values[0], {values[1], values[2]}, {values[3], values[4]}, values[5],
                           values[6]};
  }

  // Values: mass (kg), x, z (m), inertia (kg m^2) of a load on the body; see Simulator.set_payload.
  void Load(const double *values) {
    const auto angular = body_->WorldAngularVel();
    const auto linear = body_->WorldLinearVel();
    Inertiald inertia = bare_;
    if (values[0] > 0.0) {
      const Vector3d principal(values[3], values[3], values[3]);
      inertia += Inertiald(MassMatrix3d(values[0], principal, Vector3d::Zero),
                           Pose3d(values[1], 0.0, values[2], 0.0, 0.0, 0.0));
    }
    const std::array<Vector3d, 2> anchors{joints_[0]->Anchor(0), joints_[1]->Anchor(0)};
    // Link::SetInertial does nothing.
    *body_->GetInertial() = inertia;
    body_->UpdateMass();
    // A joint is placed relative to the centre of mass, which has just moved.
    for (int side : {0, 1}) joints_[side]->SetAnchor(0, anchors[side]);
    // ODE stores the velocity of a body's centre of mass.
    const auto arm = body_->WorldPose().Rot().RotateVector(inertia.Pose().Pos());
    body_->SetAngularVel(angular);
    body_->SetLinearVel(linear + angular.Cross(arm));
  }

  // Values: as the members of Model.
  void SetModel(const double *values) {
    model_ = {values[0], values[1], values[2], values[3], values[4], values[5]};
  }

  // Values: x, y of both ends (m), red, green, blue (0..1), height above the floor, width (m).
  void Draw(const double *values) {
    const double dx = values[2] - values[0], dy = values[3] - values[1];
    gazebo::msgs::Visual line;
    line.set_name("line_" + std::to_string(++drawn_));
    line.set_parent_name(world_->Name());
    line.set_cast_shadows(false);
    auto *geometry = line.mutable_geometry();
    geometry->set_type(gazebo::msgs::Geometry::BOX);
    gazebo::msgs::Set(geometry->mutable_box()->mutable_size(),
                      Vector3d(std::hypot(dx, dy) + values[8], values[8], LINE_HEIGHT));
    gazebo::msgs::Set(line.mutable_pose(),
                      Pose3d(values[0] + dx / 2, values[1] + dy / 2, values[7], 0.0, 0.0,
                             std::atan2(dy, dx)));
    const ignition::math::Color color(values[4], values[5], values[6]);
    gazebo::msgs::Set(line.mutable_material()->mutable_ambient(), color);
    gazebo::msgs::Set(line.mutable_material()->mutable_diffuse(), color);
    gazebo::msgs::Set(line.mutable_material()->mutable_emissive(), color * 0.3f);
    lines_->Publish(line);
  }

  void Say(bool notice, bool paused) {
    Answer answer{};
    answer.notice = notice;
    answer.paused = paused;
    const auto pose = body_->WorldPose();
    const auto linear = body_->WorldLinearVel(), angular = body_->WorldAngularVel();
    for (int side : {0, 1}) {
      answer.angle[side] = joints_[side]->Position(0);
      answer.rate[side] = joints_[side]->GetVelocity(0);
    }
    for (int axis : {0, 1, 2}) {
      answer.position[axis] = pose.Pos()[axis];
      answer.linear[axis] = linear[axis];
      answer.angular[axis] = angular[axis];
    }
    const auto &turn = pose.Rot();
    const std::array<double, 4> rotation{turn.W(), turn.X(), turn.Y(), turn.Z()};
    std::copy(rotation.begin(), rotation.end(), answer.rotation);
    send(socket_, &answer, sizeof answer, MSG_NOSIGNAL);
  }

  int socket_ = -1;
  std::string robot_name_;
  std::array<std::string, 2> joint_names_;
  gazebo::physics::WorldPtr world_;
  gazebo::physics::ModelPtr robot_;
  gazebo::physics::LinkPtr body_;
  std::array<gazebo::physics::JointPtr, 2> joints_;
  Inertiald bare_;
  gazebo::transport::NodePtr node_;
  gazebo::transport::PublisherPtr lines_;
  gazebo::event::ConnectionPtr begin_, pause_;
  std::uint32_t remaining_ = 0;
  std::mutex pausing_;  // for the two below
  bool moving_ = false;
  bool pause_wanted_ = false;
  bool settled_ = false;  // whether the contacts are those of the robot's present pose
  std::array<double, 2> torque_{}, drag_{}, push_{};
  std::array<Friction, 2> friction_;
  Model model_;
  std::array<double, 2> rate_before_{};
  unsigned long drawn_ = 0;
};

GZ_REGISTER_WORLD_PLUGIN(DiffbotPlugin)
