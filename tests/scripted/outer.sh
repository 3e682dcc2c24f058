# G-32: what npx and its like are: a shell whose child is the real thing.
# Arguments: inner.sh, the Python to use, the folder of scripted agents.
if [ -n "$SCRIPTED_LOG" ]; then echo "{\"note\": {\"pid\": $$, \"is\": \"outer\"}}" >>"$SCRIPTED_LOG"; fi
/bin/sh "$@"
:
