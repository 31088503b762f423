# tab.zsh WORDS WANTED: types the words into an interactive zsh, then lists the completions; prints what the terminal shows as
# soon as it has WANTED in it, or after some seconds.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PROMPT='ready> '; autoload -Uz compinit; compinit -D; setopt no_beep; stty columns 400; bindkey '^X' list-choices; print begin-tab"
shown=''
# read_until PATTERN: into $shown.
read_until() {
  local piece tries=0
  until [[ $shown == $~1 ]]; do
    if zpty -r -t shell piece; then
      shown+=$piece
    else
      ((++tries < 100)) || return 1
      sleep 0.1
    fi
  done
}
read_until $'*\nbegin-tab*ready> *'
shown=''
zpty -n -w shell "$1"$'\x18'
read_until "*$1*$2*"
print -r -- "${shown#*$1}"
zpty -d shell
