-- A store of version 2 of the schema, with a row in every table. Never to be changed.

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- What happened. `pos` is the run's own counter; fragments share it, so that a transcript is
-- the two tables merged by it. AUTOINCREMENT: a `seq` is never given twice, also after pruning.
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    pos INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    UNIQUE (run, pos)
);
CREATE INDEX events_asked ON events (seq) WHERE kind = 'PermissionAsked';

CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
BEGIN
    SELECT RAISE(ABORT, 'events are never changed');
END;

-- Retention alone removes events. It writes the row `retention` into `meta` and takes it away
-- again within one transaction, so that nobody else ever sees the door open.
CREATE TRIGGER events_are_kept BEFORE DELETE ON events
WHEN NOT EXISTS (SELECT 1 FROM meta WHERE key = 'retention')
BEGIN
    SELECT RAISE(ABORT, 'events are only removed by retention');
END;

-- What the events of a run add up to, as of event `seq`.
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    live INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    snapshot TEXT NOT NULL
);
CREATE INDEX runs_in_play ON runs (created_ms) WHERE live = 1;
CREATE INDEX runs_by_time ON runs (created_ms);
CREATE INDEX runs_by_name ON runs (name);

-- What was said. `open`: more of it may come, and the row is replaced in place.
-- `continues`: the row before it, of the same message, had grown too long.
CREATE TABLE fragments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    pos INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'agent', 'thought')),
    turn TEXT,
    message_id TEXT,
    open INTEGER NOT NULL,
    continues INTEGER NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (run, pos)
);
CREATE INDEX fragments_open ON fragments (id) WHERE open = 1;

CREATE TABLE asks (
    id TEXT PRIMARY KEY,
    run TEXT NOT NULL,
    asked_ms INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('permission', 'question')),
    state TEXT NOT NULL CHECK (state IN ('open', 'answered', 'withdrawn')),
    title TEXT NOT NULL,
    payload TEXT NOT NULL,
    closed_ms INTEGER,
    closed_by TEXT
);
CREATE INDEX asks_by_state ON asks (state, asked_ms);
CREATE INDEX asks_by_run ON asks (run);

-- Who answered what, and on whose authority. Never changed and never pruned.
CREATE TABLE decisions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    run TEXT NOT NULL,
    ask TEXT,
    tool TEXT NOT NULL,
    subject TEXT NOT NULL,
    verdict TEXT NOT NULL,
    authority TEXT NOT NULL,
    rule TEXT,
    file TEXT,
    option_id TEXT,
    reason TEXT,
    line INTEGER
);
CREATE INDEX decisions_by_run ON decisions (run, seq);
CREATE INDEX decisions_by_ask ON decisions (ask);

CREATE TRIGGER decisions_are_not_changed BEFORE UPDATE ON decisions
BEGIN
    SELECT RAISE(ABORT, 'decisions are never changed');
END;

CREATE TRIGGER decisions_are_kept BEFORE DELETE ON decisions
BEGIN
    SELECT RAISE(ABORT, 'decisions are never removed');
END;

-- INSERT OR REPLACE removes the old row without asking the trigger above.
CREATE TRIGGER decisions_are_not_replaced BEFORE INSERT ON decisions
WHEN EXISTS (SELECT 1 FROM decisions WHERE seq = NEW.seq)
BEGIN
    SELECT RAISE(ABORT, 'decisions are never changed');
END;

CREATE TABLE trust (
    root TEXT PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    "by" TEXT NOT NULL
);

CREATE TABLE agents_seen (
    agent TEXT NOT NULL,
    command TEXT NOT NULL,
    version TEXT,
    seen_ms INTEGER NOT NULL,
    payload TEXT NOT NULL,
    PRIMARY KEY (agent, command)
);

CREATE TABLE prompts_queued (
    run TEXT NOT NULL,
    turn TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (run, turn)
);

-- `kind` is a fragment's role, an ask's kind or an event's kind; `ref` is the `pos` in the run, or the
-- ask's id.
CREATE VIRTUAL TABLE search USING fts5 (
    text,
    run UNINDEXED,
    kind UNINDEXED,
    ref UNINDEXED,
    at_ms UNINDEXED,
    tokenize = "unicode61 remove_diacritics 2"
);

CREATE TRIGGER fragments_said_at_once AFTER INSERT ON fragments
WHEN NEW.open = 0
BEGIN
    INSERT INTO search (text, run, kind, ref, at_ms)
    VALUES (NEW.text, NEW.run, NEW.role, NEW.pos, NEW.at_ms);
END;

CREATE TRIGGER fragments_closed AFTER UPDATE ON fragments
WHEN OLD.open = 1 AND NEW.open = 0
BEGIN
    INSERT INTO search (text, run, kind, ref, at_ms)
    VALUES (NEW.text, NEW.run, NEW.role, NEW.pos, NEW.at_ms);
END;

-- Finding the old entry reads the whole index. A closed fragment does not change in ordinary life.
CREATE TRIGGER fragments_corrected AFTER UPDATE ON fragments
WHEN OLD.open = 0
BEGIN
    DELETE FROM search WHERE run = OLD.run AND kind = OLD.role AND ref = OLD.pos;
    INSERT INTO search (text, run, kind, ref, at_ms)
    SELECT NEW.text, NEW.run, NEW.role, NEW.pos, NEW.at_ms WHERE NEW.open = 0;
END;

CREATE TRIGGER asks_made AFTER INSERT ON asks
BEGIN
    INSERT INTO search (text, run, kind, ref, at_ms)
    VALUES (NEW.title, NEW.run, NEW.kind, NEW.id, NEW.asked_ms);
END;

INSERT INTO meta (key, value) VALUES ('made', 'by hand');
INSERT INTO events (run, pos, at_ms, kind, payload) VALUES
    ('r-aaaaaaaaaa', 1, 1000, 'RunCreated', '{"agent":"demo","agent_name":"Demo agent","command":["demo"],"cwd":"/home/me/shop","project":"/home/me/shop","name":"make-the-tests-pass","expected_version":null,"keeps_transcript":true,"by":"person"}'),
    ('r-aaaaaaaaaa', 3, 1002, 'PermissionAsked', '{"ask":"a-aaaaaaaaaa","call":"c-1","title":"make test","tool":"Bash","subject":"make test","options":[{"id":"yes","name":"Yes","kind":"allow_once"}]}'),
    ('r-aaaaaaaaaa', 4, 1003, 'AskAnswered', '{"ask":"a-aaaaaaaaaa","outcome":"allow","option":"yes","authority":"person","by":"person"}');
INSERT INTO runs (id, project, agent, name, state, live, created_ms, updated_ms, seq, snapshot)
VALUES ('r-aaaaaaaaaa', '/home/me/shop', 'demo', 'make-the-tests-pass', 'completed', 0, 1000, 1003, 3, '{"phase":"ended"}');
INSERT INTO fragments (run, pos, at_ms, role, turn, message_id, open, continues, text)
VALUES ('r-aaaaaaaaaa', 2, 1001, 'agent', 't-aaaaaaaaaa', NULL, 0, 0, 'I will run the tests.');
INSERT INTO asks (id, run, asked_ms, kind, state, title, payload, closed_ms, closed_by)
VALUES ('a-aaaaaaaaaa', 'r-aaaaaaaaaa', 1002, 'permission', 'answered', 'make test', '{"call":"c-1"}', 1003, 'person');
INSERT INTO decisions (at_ms, run, ask, tool, subject, verdict, authority, rule, file, line, option_id, reason)
VALUES (1003, 'r-aaaaaaaaaa', 'a-aaaaaaaaaa', 'Bash', 'make test', 'allow', 'person', NULL, NULL, NULL, 'yes', 'answered by person');
INSERT INTO trust (root, at_ms, "by") VALUES ('/home/me/shop', 999, 'person');
INSERT INTO agents_seen (agent, command, version, seen_ms, payload) VALUES ('demo', 'demo', '0', 1001, '{}');
INSERT INTO prompts_queued (run, turn, at_ms, text) VALUES ('r-aaaaaaaaaa', 't-bbbbbbbbbb', 1002, 'And then commit.');
PRAGMA user_version = 2;
