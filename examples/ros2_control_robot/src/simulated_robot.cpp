// SPDX-License-Identifier: Apache-2.0
// Differential-drive robot as ros2_control hardware, to test a controller manager without a robot.
//
//     v'     = K5 omega^2  + K7 (T_left + T_right)
//     omega' = K6 v omega  + K8 (T_left - T_right)
//     T = tau - viscous w - coulomb sign(w),   w_left, w_right = (v -+ b omega) / r
//
// Parameters of <hardware>, all numbers:
//     k5 k6 k7 k8            parameters of the model
//     radius, half_track     m
//     viscous, coulomb       of each wheel, N m s/rad and N m; 0
//     counts                 encoder counts per revolution, for published angle and speed; 0: exact
//     delay, jitter          s; a torque acts `delay` to `delay` + `jitter` after it was written
//     miss                   share of written commands that are lost; 0
//     effort                 2: mean acting torque of each wheel since the last state,
//                            1: torque that acts now, 0: none (NaN)
//     timeout                s; > 0: the torque is zero if a command stays the same for longer
//     seed                   random seed of jitter and losses
//     log                    text; CSV file of the true motion at each state: system time,
//                            manager's time, x, y, theta, v, omega, acting torques
//                            [left, right]; SI units
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>

#include "hardware_interface/system_interface.hpp"
#include "hardware_interface/types/hardware_interface_return_values.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp_lifecycle/state.hpp"

namespace diffbot_ros2_control_robot
{
using hardware_interface::CallbackReturn;
using hardware_interface::return_type;
using Pair = std::array<double, 2>;  // values of the wheels [left, right]

constexpr double STEP = 0.0005;          // integration step, s
constexpr double LONGEST_PERIOD = 0.5;   // s; of a longer stall, the rest is not simulated
constexpr double STANDSTILL = 1e-3;      // rad/s; range of speed over which dry friction reverses
constexpr int MEAN = 2, NOW = 1;         // values of the parameter `effort`

struct Command
{
  double acts_at;  // s, manager's clock
  Pair torque;     // N m
};

class SimulatedRobot : public hardware_interface::SystemInterface
{
public:
  CallbackReturn on_init(
    const hardware_interface::HardwareComponentInterfaceParams & params) override
  {
    if (hardware_interface::SystemInterface::on_init(params) != CallbackReturn::SUCCESS) {
      return CallbackReturn::ERROR;
    }
    try {
      read_parameters();
    } catch (const std::exception & error) {
      RCLCPP_FATAL(get_logger(), "%s", error.what());
      return CallbackReturn::ERROR;
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    halt();
    for (const auto & joint : joints_) {
      set_command(joint + "/effort", 0.0);
      set_state(joint + "/position", 0.0);
      set_state(joint + "/velocity", 0.0);
      set_state(joint + "/effort", 0.0);
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override
  {
    halt();
    return CallbackReturn::SUCCESS;
  }

  return_type read(const rclcpp::Time & time, const rclcpp::Duration & period) override
  {
    const double now = time.seconds();
    const double elapsed = std::clamp(period.seconds(), 0.0, LONGEST_PERIOD);
    Pair work{0.0, 0.0};
    const int steps = std::max(1, static_cast<int>(std::ceil(elapsed / STEP)));
    const double h = elapsed / steps;
    for (int i = 0; i < steps; ++i) {
      take_commands(now - elapsed + i * h);
      for (int wheel = 0; wheel < 2; ++wheel) {
        work[wheel] += torque_[wheel] * h;
      }
      advance(h);
    }
    tell(elapsed, work);
    if (log_) {
      const std::chrono::duration<double> clock =
        std::chrono::system_clock::now().time_since_epoch();
      std::fprintf(log_, "%.6f,%.6f,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g\n", clock.count(), now, x_,
        y_, theta_, v_, omega_, torque_[0], torque_[1]);
    }
    return return_type::OK;
  }

  return_type write(const rclcpp::Time & time, const rclcpp::Duration &) override
  {
    Pair torque;
    for (int wheel = 0; wheel < 2; ++wheel) {
      const double value = get_command<double>(joints_[wheel] + "/effort");
      torque[wheel] = std::isfinite(value) ? value : 0.0;
    }
    const double now = time.seconds();
    if (torque != written_) {
      written_ = torque;
      changed_at_ = now;
    }
    if (timeout_ > 0.0 && now - changed_at_ > timeout_) {
      torque = {0.0, 0.0};
    }
    if (uniform_(random_) < miss_) {
      return return_type::OK;
    }
    const double acts_at = now + delay_ + jitter_ * uniform_(random_);
    // A torque never overtakes the one before it.
    queue_.push_back({queue_.empty() ? acts_at : std::max(acts_at, queue_.back().acts_at), torque});
    return return_type::OK;
  }

  ~SimulatedRobot() override
  {
    if (log_) {std::fclose(log_);}
  }

private:
  double number(const std::string & name, double otherwise = std::nan("")) const
  {
    const auto & given = info_.hardware_parameters;
    const auto found = given.find(name);
    const double value = found == given.end() ? otherwise : std::stod(found->second);
    if (!std::isfinite(value)) {
      throw std::invalid_argument("the hardware's parameter '" + name + "' must be a number");
    }
    return value;
  }

  void read_parameters()
  {
    if (info_.joints.size() != 2) {
      throw std::invalid_argument("two joints are needed, left and right");
    }
    joints_ = {info_.joints[0].name, info_.joints[1].name};
    k5_ = number("k5"), k6_ = number("k6"), k7_ = number("k7"), k8_ = number("k8");
    radius_ = number("radius"), half_track_ = number("half_track");
    viscous_ = number("viscous", 0.0), coulomb_ = number("coulomb", 0.0);
    counts_ = number("counts", 0.0);
    delay_ = number("delay", 0.0), jitter_ = number("jitter", 0.0), miss_ = number("miss", 0.0);
    effort_ = static_cast<int>(number("effort", MEAN));
    timeout_ = number("timeout", 0.0);
    random_.seed(static_cast<unsigned>(number("seed", 0.0)));
    const auto log = info_.hardware_parameters.find("log");
    if (log != info_.hardware_parameters.end() && !log->second.empty()) {
      log_ = std::fopen(log->second.c_str(), "w");
      if (!log_) {throw std::invalid_argument("cannot write the file " + log->second);}
      std::setvbuf(log_, nullptr, _IOLBF, 1 << 12);  // whole lines, even after kill -9
    }
  }

  void halt()
  {
    queue_.clear();
    torque_ = written_ = {0.0, 0.0};
  }

  void take_commands(double now)
  {
    while (!queue_.empty() && queue_.front().acts_at <= now) {
      torque_ = queue_.front().torque;
      queue_.pop_front();
    }
  }

  Pair wheel_speeds() const
  {
    return {(v_ - half_track_ * omega_) / radius_, (v_ + half_track_ * omega_) / radius_};
  }

  void advance(double h)
  {
    const auto speeds = wheel_speeds();
    Pair acting;
    for (int wheel = 0; wheel < 2; ++wheel) {
      const double w = speeds[wheel];
      acting[wheel] = torque_[wheel] - viscous_ * w - coulomb_ * std::tanh(w / STANDSTILL);
      // Dry friction stops a wheel, but does not reverse it.
      if (std::abs(w) < STANDSTILL && std::abs(torque_[wheel]) < coulomb_) {acting[wheel] = 0.0;}
    }
    const auto slope = [&](double v, double omega) {
        return Pair{k5_ * omega * omega + k7_ * (acting[0] + acting[1]),
          k6_ * v * omega + k8_ * (acting[0] - acting[1])};
      };
    const auto first = slope(v_, omega_);
    const auto middle = slope(v_ + 0.5 * h * first[0], omega_ + 0.5 * h * first[1]);
    const double v = v_ + 0.5 * h * middle[0], omega = omega_ + 0.5 * h * middle[1];
    x_ += h * v * std::cos(theta_ + 0.5 * h * omega);
    y_ += h * v * std::sin(theta_ + 0.5 * h * omega);
    theta_ += h * omega;
    angle_[0] += h * (v - half_track_ * omega) / radius_;
    angle_[1] += h * (v + half_track_ * omega) / radius_;
    v_ += h * middle[0], omega_ += h * middle[1];
  }

  void tell(double elapsed, const Pair & work)
  {
    const auto speeds = wheel_speeds();
    for (int wheel = 0; wheel < 2; ++wheel) {
      double angle = angle_[wheel], speed = speeds[wheel];
      if (counts_ > 0.0) {
        const double count = 2.0 * M_PI / counts_;
        angle = count * std::floor(angle / count);
        if (elapsed > 0.0) {speed = (angle - told_[wheel]) / elapsed;}
      }
      told_[wheel] = angle;
      set_state(joints_[wheel] + "/position", angle);
      set_state(joints_[wheel] + "/velocity", speed);
      const double mean = elapsed > 0.0 ? work[wheel] / elapsed : torque_[wheel];
      const double none = std::numeric_limits<double>::quiet_NaN();
      set_state(joints_[wheel] + "/effort",
        effort_ == MEAN ? mean : effort_ == NOW ? torque_[wheel] : none);
    }
  }

  std::array<std::string, 2> joints_;
  double k5_{}, k6_{}, k7_{}, k8_{}, radius_{}, half_track_{}, viscous_{}, coulomb_{};
  double counts_{}, delay_{}, jitter_{}, miss_{}, timeout_{};
  int effort_{MEAN};
  std::mt19937 random_;
  std::uniform_real_distribution<double> uniform_{0.0, 1.0};
  std::FILE * log_{nullptr};
  std::deque<Command> queue_;
  Pair torque_{}, written_{}, angle_{}, told_{};
  double changed_at_{}, x_{}, y_{}, theta_{}, v_{}, omega_{};
};
}  // namespace diffbot_ros2_control_robot

PLUGINLIB_EXPORT_CLASS(
  diffbot_ros2_control_robot::SimulatedRobot, hardware_interface::SystemInterface)
