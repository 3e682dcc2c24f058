#!/bin/sh
# A first look: the demo agent in a folder of its own, with its requests decided. Nothing of yours is touched.
set -eu

work=$(mktemp -d)
DEVPLANE_HOME="$work/home"
DEVPLANE_DEMO_STATE="$work/state"
export DEVPLANE_HOME DEVPLANE_DEMO_STATE
project="$work/project"
mkdir "$project"
trap 'devplane daemon stop >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

show() { printf '\n$ %s\n' "$*"; }

cd "$project"
show devplane trust .
devplane trust . --yes

show 'devplane dispatch --agent demo --follow --thinking "show me what you can do"'
devplane dispatch --agent demo --follow --thinking "show me what you can do" </dev/null &
follower=$!

# The second terminal: what waits is in the inbox, and is answered by its id.
decided=0
while [ "$decided" -lt 2 ] && kill -0 "$follower" 2>/dev/null; do
    ask=$(devplane inbox --json 2>/dev/null | sed -n 's/.*"ask": *"\(a-[a-z0-9]*\)".*/\1/p' | head -n 1)
    if [ -n "$ask" ]; then
        show devplane decide "$ask" --decision allow
        devplane decide "$ask" --decision allow
        decided=$((decided + 1))
    else
        sleep 0.2
    fi
done
wait "$follower"

show devplane ls
devplane ls
run=$(devplane ls --json | sed -n 's/.*"id": *"\(r-[a-z0-9]*\)".*/\1/p' | head -n 1)
show devplane stop "$run"
devplane stop "$run"
printf '\nThat was the whole of it: trust, dispatch, watch, decide, stop. Next: devplane agents, and docs/guide.md\n'
