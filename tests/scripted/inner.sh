# Ignores SIGTERM, and starts an agent that ignores it too and does not mind the end of its input.
trap '' TERM
if [ -n "$SCRIPTED_LOG" ]; then echo "{\"note\": {\"pid\": $$, \"is\": \"inner\"}}" >>"$SCRIPTED_LOG"; fi
"$1" "$2" deaf
:
