#include "simhost/session/container_session.h"

#include <algorithm>
#include <utility>

#include "sublet/schema/document.h"

namespace sublet::simhost::session {
namespace {

constexpr std::size_t kInputMax = 1024 * 1024;
constexpr std::string_view kPrompt = "/ # ";
constexpr char kInterrupt = 0x03, kEndOfInput = 0x04, kBackspace = 0x08, kDelete = 0x7f;

bool is_lone_shell(const shell::Words& command) {
  if (command.size() != 1) return false;
  const std::string name = command[0].substr(command[0].rfind('/') + 1);
  return name == "sh" || name == "bash" || name == "ash" || name == "dash";
}

/// What both kinds share: the channels, and playing lines at their moments.
class Running : public ContainerSession, public std::enable_shared_from_this<Running> {
 public:
  Running(const SessionSetting& setting, std::shared_ptr<Out> out)
      : setting_(setting),
        channels_(make_channels(setting.protocol, setting.wanted, std::move(out),
                                {[this] { ready(); },
                                 [this](Channel channel, std::string_view bytes) {
                                   if (channel == Channel::input && !over_) hear(bytes);
                                 },
                                 [this](Channel channel) {
                                   if (channel == Channel::input && !over_) input_ended();
                                 },
                                 [this] { over(); }})) {}
  void begin() { channels_->begin(); }
  void put(std::string_view bytes) override {
    if (!over_) channels_->put(bytes);
  }
  void over() override {
    over_ = true;
    setting_.loop.cancel(timer_);
  }
  void stop(int exit_code) override { finish(exit_code); }

 protected:
  virtual void ready() = 0;
  virtual void hear(std::string_view bytes) = 0;
  virtual void input_ended() = 0;

  void say(std::string_view text) { channels_->write(Channel::output, text); }
  void say_line(const std::string& line) { say(line + (setting_.wanted.tty ? "\r\n" : "\n")); }
  void play(Play program) {
    program_ = std::move(program);
    next_ = 0;
    play_on();
  }
  void finish(int exit_code) {
    if (over_) return;
    channels_->write(Channel::status, exit_status(exit_code));
    channels_->finish();
    over();
  }
  const SessionSetting& setting() const { return setting_; }

 private:
  void play_on() {
    const WallTime now = setting_.clock.now();
    while (!over_ && next_ < program_.lines.size() && program_.lines[next_].at <= now)
      say_line(program_.lines[next_++].text);
    if (over_) return;
    const bool said = next_ == program_.lines.size();
    if (said && !program_.end) return;
    const WallTime next = said ? program_.end->at : program_.lines[next_].at;
    if (said && next <= now) return finish(program_.end->exit_code);
    const auto delay = std::max(std::chrono::milliseconds(1), std::chrono::ceil<std::chrono::milliseconds>(next - now));
    timer_ = setting_.loop.after(delay, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->play_on();
    });
  }

  const SessionSetting setting_;
  const std::unique_ptr<Channels> channels_;
  Play program_;
  std::size_t next_ = 0;
  net::Loop::TimerId timer_ = 0;
  bool over_ = false;
};

class Exec final : public Running {
 public:
  Exec(const SessionSetting& made, shell::Words command, shell::World world, std::shared_ptr<Out> out)
      : Running(made, std::move(out)), command_(std::move(command)), world_(std::move(world)) {}

 private:
  void ready() override {
    if (is_lone_shell(command_) && setting().wanted.input) {
      conversation_.emplace(world_);
      return prompt();
    }
    if (setting().wanted.input && !setting().wanted.tty) return;  // it is run with its input, whole
    run();
  }
  void hear(std::string_view bytes) override {
    if (!conversation_) {
      if (input_.size() + bytes.size() <= kInputMax) input_.append(bytes);
      return;
    }
    for (const char c : bytes) {
      if (ended_) return;
      setting().wanted.tty ? type(c) : take(c);
    }
  }
  void input_ended() override {
    if (ended_) return;
    if (!conversation_) return run();
    if (!input_.empty()) answer(std::exchange(input_, {}));
    if (!ended_) leave(status_);
  }

  void run() {
    if (std::exchange(ended_, true)) return;
    world_.input = std::move(input_);
    world_.start = setting().clock.now();
    const shell::Trace trace = shell::run(command_, world_, shell::Context::session);
    Play program;
    for (const shell::Line& line : trace.lines) program.lines.push_back({world_.start + line.at, line.text});
    if (trace.end) program.end = Play::End{world_.start + trace.end->at, trace.end->exit_code};
    play(std::move(program));
  }

  void prompt() {
    if (setting().wanted.tty) say(kPrompt);
  }
  void take(char c) {
    if (c == '\n')
      answer(std::exchange(input_, {}));
    else if (input_.size() < kInputMax)
      input_ += c;
  }
  /// A terminal's line: what is typed is shown.
  void type(char c) {
    if (c == '\r' || c == '\n') {
      say("\r\n");
      answer(std::exchange(input_, {}));
    } else if (c == kInterrupt) {
      say("^C\r\n");
      input_.clear();
    } else if (c == kEndOfInput) {
      if (input_.empty()) leave(status_);
      return;
    } else if (c == kBackspace || c == kDelete) {
      if (!input_.empty()) say("\b \b");
      if (!input_.empty()) input_.pop_back();
      return;
    } else {
      if (static_cast<unsigned char>(c) < ' ' || input_.size() >= kInputMax) return;
      input_ += c;
      return say({&c, 1});
    }
    if (!ended_) prompt();
  }
  void answer(const std::string& line) {
    world_.start = setting().clock.now();
    const shell::Trace trace = conversation_->say(line);
    for (const shell::Line& said : trace.lines) say_line(said.text);
    status_ = conversation_->status();
    if (trace.end) leave(trace.end->exit_code);
  }
  void leave(int exit_code) {
    ended_ = true;
    finish(exit_code);
  }

  const shell::Words command_;
  shell::World world_;
  std::optional<shell::Conversation> conversation_;
  std::string input_;
  int status_ = 0;
  bool ended_ = false;
};

class Attach final : public Running {
 public:
  Attach(const SessionSetting& made, Play program, std::shared_ptr<Out> out)
      : Running(made, std::move(out)), program_(std::move(program)) {}

 private:
  void ready() override { play(std::move(program_)); }
  void hear(std::string_view) override {}  // no simulated main process reads its input
  void input_ended() override {}

  Play program_;
};

}  // namespace

std::string exit_status(int exit_code) {
  schema::Document document = schema::Document::object();
  schema::Value root = document.root();
  root.object("metadata");
  root.put("status", exit_code == 0 ? "Success" : "Failure");
  if (exit_code == 0) return document.to_json();
  root.put("message", "command terminated with non-zero exit code: exit status " + std::to_string(exit_code));
  root.put("reason", "NonZeroExitCode");
  schema::Value cause = root.object("details").array("causes").push_object();
  cause.put("reason", "ExitCode");
  cause.put("message", std::to_string(exit_code));
  return document.to_json();
}

std::shared_ptr<ContainerSession> make_exec(const SessionSetting& setting, shell::Words command, shell::World world,
                                            std::shared_ptr<Out> out) {
  auto made = std::make_shared<Exec>(setting, std::move(command), std::move(world), std::move(out));
  made->begin();
  return made;
}

std::shared_ptr<ContainerSession> make_attach(const SessionSetting& setting, Play program, std::shared_ptr<Out> out) {
  auto made = std::make_shared<Attach>(setting, std::move(program), std::move(out));
  made->begin();
  return made;
}

}  // namespace sublet::simhost::session
