"""The agent that ships inside Devplane: ``python -m devplane.demo`` speaks ACP on stdio.

It is scripted: no model, no network, no key, and the cost it reports is made up. What it does
to the folder is real: the command that it asks to run is run when it is allowed, and the file
that it asks to write is written. Any prompt gets the tour; a prompt that begins with one of
these words (``word`` or ``word:``) gets that instead:

================== =========================================================================
``quick``          answers in one sentence and asks for nothing
``think``          thinks aloud, then answers
``plan``           shows a plan of three steps and works through it
``edit``           asks to write ``devplane-demo.txt`` and writes it
``shell``          asks to run a harmless command (``git status --short`` or ``ls``)
``run: <command>`` asks to run exactly that command, and runs it
``question``       asks the person to fill in a form
``permissions N``  asks N times, one after the other, for a command that it does not really run
``hold``           asks for permission and waits, however long it takes
``remember``       tells which turn this is and repeats the prompt before it
``slow``           writes a chunk each 50 ms until it is cancelled
``sleep N``        says nothing for N seconds
``many N``         writes N chunks as fast as it can
``long``           returns 1.5 MB of tool output on one line
``fail``           refuses (stop reason ``refusal``)
``error``          answers the prompt with a JSON-RPC error
``crash``          writes to stderr and exits with status 1 in mid-turn
================== =========================================================================

Three modes: ``ask`` (the default) asks before every command and edit, ``plan`` does neither,
``auto`` does both without asking. Sessions are kept in ``$DEVPLANE_DEMO_STATE``, else
``$XDG_STATE_HOME/devplane-demo``, else ``~/.local/state/devplane-demo``.
``DEVPLANE_DEMO_SPEED`` divides the pauses of the tour; ``0`` removes them.
"""
