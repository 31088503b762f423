#include "simhost/session/container_session.h"

#include <algorithm>
#include <utility>

#include "sublet/schema/document.h"

namespace sublet::simhost::session {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kInputMax = 4 * 1024 * 1024;
constexpr milliseconds kInputPause{10};  // between two runs of a command for new input
constexpr std::string_view kPrompt = "/ # ", kContinuationPrompt = "> ";
constexpr char kInterrupt = 0x03, kEndOfInput = 0x04, kBackspace = 0x08, kDelete = 0x7f;
constexpr int kInterrupted = 130;

std::string exit_message(int exit_code) {
  return "command terminated with non-zero exit code: exit status " + std::to_string(exit_code);
}

/// A terminal moves to the first column only for "\r".
std::string for_terminal(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    if (c == '\n') out += '\r';
    out += c;
  }
  return out;
}

/// What exec and attach share: the channels, and sending output at its moments.
class Running : public ContainerSession, public std::enable_shared_from_this<Running> {
 public:
  Running(const SessionSetting& setting, std::shared_ptr<Out> out, bool is_attached)
      : setting_(setting),
        is_attached_(is_attached),
        channels_(make_channels(setting.protocol, setting.wanted, std::move(out),
                                {[this] { ready(); },
                                 [this](Channel channel, std::string_view bytes) {
                                   if (channel == Channel::input && !over_) take_input(bytes);
                                 },
                                 [this](Channel channel) {
                                   if (channel == Channel::input && !over_) end_input();
                                 },
                                 [this] { over(); }})) {}
  void begin() { channels_->begin(); }
  void put(std::string_view bytes) override {
    if (!over_) channels_->put(bytes);
  }
  void over() override {
    if (std::exchange(over_, true)) return;
    setting_.loop.cancel(timer_);
    closed();
  }
  void stop(int exit_code) override { finish(exit_code); }

 protected:
  virtual void ready() = 0;
  virtual void take_input(std::string_view bytes) = 0;
  virtual void end_input() = 0;
  virtual void printed(const Play::Piece&) {}
  virtual void closed() {}

  /// On a terminal standard error is the same stream.
  void send(std::string_view bytes, bool is_error = false) {
    const bool tty = setting_.wanted.tty;
    const Channel channel = is_error && !tty ? Channel::errors : Channel::output;
    if (!(channel == Channel::errors ? setting_.wanted.errors : setting_.wanted.output)) return;
    channels_->write(channel, tty ? for_terminal(bytes) : std::string(bytes));
  }
  void play(Play program) {
    program_ = std::move(program);
    next_ = 0;
    setting_.loop.cancel(std::exchange(timer_, 0));
    play_on();
  }
  void finish(int exit_code) {
    if (over_) return;
    if (is_attached_) exit_code = 0;  // only exec reports the exit code
    channels_->write_status(exit_code == 0 ? "" : exit_message(exit_code), exit_status(exit_code));
    channels_->finish();
    finished_ = true;
    over();
  }
  bool is_finished() const { return finished_; }
  const SessionSetting& setting() const { return setting_; }

 private:
  void play_on() {
    const WallTime now = setting_.clock.now();
    for (; !over_ && next_ < program_.pieces.size() && program_.pieces[next_].at <= now; ++next_) {
      send(program_.pieces[next_].bytes, program_.pieces[next_].is_error);
      printed(program_.pieces[next_]);
    }
    if (over_) return;
    const bool all_sent = next_ == program_.pieces.size();
    if (all_sent && !program_.end) return;
    const WallTime next = all_sent ? program_.end->at : program_.pieces[next_].at;
    if (all_sent && next <= now) return finish(program_.end->exit_code);
    const auto delay = std::max(milliseconds(1), std::chrono::ceil<milliseconds>(next - now));
    timer_ = setting_.loop.after(delay, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->play_on();
    });
  }

  const SessionSetting setting_;
  const bool is_attached_;  // to the main process
  const std::unique_ptr<Channels> channels_;
  Play program_;
  std::size_t next_ = 0;
  net::Loop::TimerId timer_ = 0;
  bool over_ = false, finished_ = false;  // finished: the client has the exit code
};

class Exec final : public Running {
 public:
  Exec(const SessionSetting& made, shell::Words command, shell::World world, std::shared_ptr<Out> out,
       MainProcessCalls calls)
      : Running(made, std::move(out), static_cast<bool>(calls.ended)),
        command_(std::move(command)),
        world_(std::move(world)),
        calls_(std::move(calls)) {}

 private:
  void ready() override {
    world_.start = setting().clock.now();
    world_.input = {};
    world_.input.open = setting().wanted.input;
    if (shell::is_lone_shell(command_) && setting().wanted.input) {
      conversation_.emplace(world_);
      return prompt();
    }
    run();
  }

  void take_input(std::string_view bytes) override {
    const bool by_line = setting().wanted.tty || conversation_;
    if (!by_line && !ended_) append(bytes);
    for (const char c : bytes)
      if (by_line && !ended_) setting().wanted.tty ? type(c) : take(c);
    plan_run();
  }
  void end_input() override {
    if (ended_) return;
    if (conversation_) {
      if (!line_.empty()) answer(std::exchange(line_, {}));
      if (!ended_) leave(status_);
      return;
    }
    world_.input.open = false;
    setting().loop.cancel(std::exchange(run_timer_, 0));
    run();
  }
  void closed() override {
    setting().loop.cancel(std::exchange(run_timer_, 0));
    const bool ends = is_finished() || (calls_.ends_with_session && !ended_);
    if (calls_.ended && ends) std::exchange(calls_.ended, {})(status_);
  }
  void printed(const Play::Piece& piece) override {
    sent_[piece.is_error] += piece.bytes.size();
    if (calls_.printed) calls_.printed(piece);
  }

  // A command
  // -----------------------------------------------------------------------------------------------------------

  void append(std::string_view bytes) {
    if (world_.input.text.size() + bytes.size() > kInputMax) return leave_with_full_input();
    world_.input.text.append(bytes);
  }
  void leave_with_full_input() {
    send("simhost: standard input of more than 4 MiB is not simulated\n", true);
    leave(1);
  }
  void plan_run() {
    if (ended_ || conversation_ || run_timer_ != 0) return;
    run_timer_ = setting().loop.after(kInputPause, [weak = weak_from_this(), this] {
      const auto self = weak.lock();
      if (!self) return;
      run_timer_ = 0;
      if (!ended_) run();
    });
  }
  /// Runs the command on all input so far. Its files are the container's once it needs no more input.
  void run() {
    shell::Input& input = world_.input;
    const auto since = std::chrono::duration_cast<milliseconds>(setting().clock.now() - world_.start);
    if (input.arrivals.empty() || input.arrivals.back().size != input.text.size())
      input.arrivals.push_back({input.text.size(), since});
    shell::Trace trace;
    if (input.open) {
      shell::World draft = world_;
      draft.files = world_.files.copy();
      trace = shell::run(command_, draft, shell::Context::session);
    }
    if (!trace.starved) {
      ended_ = true;
      trace = shell::run(command_, world_, shell::Context::session);
      if (trace.end) status_ = trace.end->exit_code;
    }
    play(unsent(Play::of(trace, world_.start)));
  }
  /// Without what an earlier run has printed already.
  Play unsent(Play program) const {
    std::size_t known[2] = {sent_[0], sent_[1]};
    for (Play::Piece& piece : program.pieces) {
      const std::size_t skipped = std::min(known[piece.is_error], piece.bytes.size());
      known[piece.is_error] -= skipped;
      piece.bytes.erase(0, skipped);
    }
    std::erase_if(program.pieces, [](const Play::Piece& piece) { return piece.bytes.empty(); });
    return program;
  }

  // A terminal and an interactive shell
  // ---------------------------------------------------------------------------------

  void prompt() {
    if (setting().wanted.tty) send(conversation_->is_incomplete() ? kContinuationPrompt : kPrompt);
  }
  void take(char c) {
    if (c == '\n')
      answer(std::exchange(line_, {}));
    else if (line_.size() < kInputMax)
      line_ += c;
  }
  /// A terminal echoes what is typed, and passes it on by lines.
  void type(char c) {
    if (c == '\r' || c == '\n') {
      send("\n");
      const std::string line = std::exchange(line_, {});
      if (!conversation_) return append(line + "\n");
      answer(line);
    } else if (c == kInterrupt) {
      send("^C\n");
      line_.clear();
      if (!conversation_) return leave(kInterrupted);
    } else if (c == kEndOfInput) {
      if (line_.empty()) end_input();
      return;
    } else if (c == kBackspace || c == kDelete) {
      if (!line_.empty()) send("\b \b");
      if (!line_.empty()) line_.pop_back();
      return;
    } else {
      if (static_cast<unsigned char>(c) < ' ' || line_.size() >= kInputMax) return;
      line_ += c;
      return send({&c, 1});
    }
    if (!ended_) prompt();
  }
  void answer(const std::string& line) {
    world_.start = setting().clock.now();
    const shell::Trace trace = conversation_->run_line(line);
    for (const Play::Piece& piece : Play::of(trace, world_.start).pieces) {
      send(piece.bytes, piece.is_error);
      printed(piece);
    }
    status_ = conversation_->status();
    if (trace.end) leave(trace.end->exit_code);
  }
  void leave(int exit_code) {
    ended_ = true;
    status_ = exit_code;
    finish(exit_code);
  }

  const shell::Words command_;
  shell::World world_;
  MainProcessCalls calls_;
  std::optional<shell::Conversation> conversation_;
  std::string line_;              // that is being typed
  std::size_t sent_[2] = {0, 0};  // bytes of standard output and standard error
  net::Loop::TimerId run_timer_ = 0;
  int status_ = 0;
  bool ended_ = false;  // the command needs no more input
};

class Attach final : public Running {
 public:
  Attach(const SessionSetting& made, Play program, std::shared_ptr<Out> out)
      : Running(made, std::move(out), true), program_(std::move(program)) {}

 private:
  void ready() override { play(std::move(program_)); }
  void take_input(std::string_view) override {}  // this main process does not read its input
  void end_input() override {}

  Play program_;
};

}  // namespace

Play Play::of(const shell::Trace& trace, WallTime start) {
  Play out;
  for (const shell::Line& line : trace.lines) out.pieces.push_back({start + line.at, line.bytes(), line.is_error});
  if (trace.end) out.end = End{start + trace.end->at, trace.end->exit_code};
  return out;
}

std::string exit_status(int exit_code) {
  schema::Document document = schema::Document::object();
  schema::Value root = document.root();
  root.object("metadata");
  root.put("status", exit_code == 0 ? "Success" : "Failure");
  if (exit_code == 0) return document.to_json();
  root.put("message", exit_message(exit_code));
  root.put("reason", "NonZeroExitCode");
  schema::Value cause = root.object("details").array("causes").push_object();
  cause.put("reason", "ExitCode");
  cause.put("message", std::to_string(exit_code));
  return document.to_json();
}

std::shared_ptr<ContainerSession> make_exec(const SessionSetting& setting, shell::Words command, shell::World world,
                                            std::shared_ptr<Out> out, MainProcessCalls calls) {
  auto made = std::make_shared<Exec>(setting, std::move(command), std::move(world), std::move(out), std::move(calls));
  made->begin();
  return made;
}

std::shared_ptr<ContainerSession> make_attach(const SessionSetting& setting, Play program, std::shared_ptr<Out> out) {
  auto made = std::make_shared<Attach>(setting, std::move(program), std::move(out));
  made->begin();
  return made;
}

}  // namespace sublet::simhost::session
