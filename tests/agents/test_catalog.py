"""The agents that ship, a person's file over them, and what `--agent` names."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from devplane import __version__
from devplane.agents.catalog import Agent, Catalog, built_in_agents
from devplane.agents.node import with_node
from devplane.agents.tables import TableWrong, call_hints
from devplane.errors import NotFound, UsageError
from devplane.launchers import is_exact
from devplane.paths import Home

SHIPPED = built_in_agents()
REAL = ("claude", "codex", "copilot", "gemini", "opencode")


def loaded(folder: Path, text: str) -> Catalog:
    (folder / "agents.toml").write_text(text, "utf-8")
    return Catalog.load(Home(folder))


def only_problem(folder: Path, text: str) -> str:
    catalog = loaded(folder, text)
    assert dict(catalog.agents) == SHIPPED
    (problem,) = catalog.problems
    return problem


class TestShipped:
    def test_five_real_agents_and_the_demo_ship(self) -> None:
        assert tuple(SHIPPED) == ("claude", "codex", "copilot", "demo", "gemini", "opencode")

    @pytest.mark.parametrize("agent", SHIPPED.values(), ids=SHIPPED)
    def test_each_is_pinned_to_one_exact_version(self, agent: Agent) -> None:
        assert agent.pinned
        assert agent.version is not None
        assert is_exact(agent.version)
        assert agent.expected_version == agent.version
        assert agent.source == "built in"
        assert not any("{" in word for word in agent.command)

    @pytest.mark.parametrize("agent", SHIPPED.values(), ids=SHIPPED)
    def test_each_has_a_way_to_ask_first(self, agent: Agent) -> None:
        assert agent.asking.modes
        assert agent.asking.via != "none"
        assert agent.asking.set_mode is None or agent.asking.set_mode in agent.asking.modes
        assert (agent.asking.via == "environment") <= bool(agent.env or agent.env_json)

    @pytest.mark.parametrize("agent_id", REAL)
    def test_each_real_one_can_be_handed_over_and_says_how_to_sign_in(self, agent_id: str) -> None:
        agent = SHIPPED[agent_id]
        assert sum(word.count("{session}") for word in agent.attach) == 1
        assert "s-1" in " ".join(agent.attach_command("s-1"))
        assert agent.sign_in
        assert agent.fetches

    @pytest.mark.parametrize("agent_id", REAL)
    def test_none_is_given_a_model_provider(self, agent_id: str) -> None:
        agent = SHIPPED[agent_id]
        said = " ".join([*agent.env, json.dumps(agent.env_json, default=dict)]).lower()
        assert not any(word in said for word in ("base_url", "api_key", "provider"))

    def test_the_demo_runs_in_this_python_and_searches_no_repository_for_modules(self) -> None:
        demo = SHIPPED["demo"]
        assert demo.command == (sys.executable, "-P", "-m", "devplane.demo")
        assert (demo.version, demo.fetches) == (__version__, False)

    def test_what_the_agents_measured_need_is_there(self) -> None:
        assert SHIPPED["codex"].env["INITIAL_AGENT_MODE"] == "read-only"
        assert SHIPPED["gemini"].calls.title_is_command
        assert SHIPPED["copilot"].mcp_transport == "http"
        assert SHIPPED["claude"].asking.set_mode == "default"
        assert SHIPPED["codex"].calls.mcp_raw_input == ("server", "tool")
        assert SHIPPED["copilot"].calls.mcp_announced == "{server}-{tool}"

    @pytest.mark.parametrize(
        ("table", "key"),
        [
            ({"title_is_comand": True}, "title_is_comand"),
            ({"command_from": "content"}, "command_from"),
            ({"url_title": "Fetching"}, "url_title"),
            ({"folder_text": "[in {folder}]"}, "folder_text"),
            ({"folder_text": ["[in {cwd}]"]}, "folder_text"),
            ({"mcp_title": "{tool}"}, "mcp_title"),
            ({"mcp_title": "{server}", "mcp_announced": "{server}-{tool}"}, "mcp_title"),
            ({"mcp_announced": "{server}-{server}"}, "mcp_announced"),
            ({"mcp_raw_input": ["server"]}, "mcp_raw_input"),
        ],
    )
    def test_a_hint_that_cannot_be_meant_is_refused_by_its_key(
        self, table: dict[str, object], key: str
    ) -> None:
        with pytest.raises(TableWrong) as caught:
            call_hints(table)
        assert caught.value.key == key


class TestEnvironment:
    def test_a_json_variable_is_merged_over_what_the_person_has(self) -> None:
        mine = {"model": "m", "permission": {"bash": {"*": "allow"}, "skill": "ask"}}
        env = SHIPPED["opencode"].environment({"OPENCODE_CONFIG_CONTENT": json.dumps(mine), "PATH": "p"})
        config = json.loads(env["OPENCODE_CONFIG_CONTENT"])
        assert env["PATH"] == "p"
        assert config["model"] == "m"
        assert config["permission"]["skill"] == "ask"
        assert {config["permission"][tool] for tool in ("bash", "edit", "webfetch", "devplane_*")} == {"ask"}

    @pytest.mark.parametrize("held", ["", "{", "[1]", "[" * 100_000])
    def test_a_json_variable_that_holds_no_object_still_makes_the_agent_ask(self, held: str) -> None:
        env = SHIPPED["opencode"].environment({"OPENCODE_CONFIG_CONTENT": held})
        assert json.loads(env["OPENCODE_CONFIG_CONTENT"])["permission"]["bash"] == "ask"

    def test_a_variable_to_forget_is_not_passed_on(self) -> None:
        agent = Agent("x", "x", ("x",), "built in", forget_env=("A",))
        assert agent.environment({"A": "1", "B": "2"}) == {"B": "2"}


class TestNode:
    def test_an_old_node_is_replaced_by_a_fetched_one(self) -> None:
        for major in (None, 20):
            assert with_node(SHIPPED["claude"], major).command == (
                *("npx", "-y", "-p", "node@22.23.3"),
                *("-p", "@agentclientprotocol/claude-agent-acp@0.101.0", "claude-agent-acp"),
            )

    def test_a_node_that_is_new_enough_is_used(self) -> None:
        assert with_node(SHIPPED["claude"], 22) is SHIPPED["claude"]
        assert with_node(SHIPPED["codex"], 18) is SHIPPED["codex"]

    def test_the_need_for_node_outlives_a_re_pin_but_not_another_program(self, tmp_path: Path) -> None:
        pinned = loaded(tmp_path, '[agents.claude]\nversion = "0.102.0"\n').agents["claude"]
        assert "@agentclientprotocol/claude-agent-acp@0.102.0" in with_node(pinned, 20).command
        assert "node@22.23.3" in with_node(pinned, 20).command
        other = loaded(tmp_path, '[agents.claude]\ncommand = "npx -y other-acp@1.0.0"\n').agents["claude"]
        assert with_node(other, 20) is other


class TestFile:
    def test_no_file_is_no_problem(self, tmp_path: Path) -> None:
        catalog = Catalog.load(Home(tmp_path))
        assert (dict(catalog.agents), catalog.problems) == (SHIPPED, ())

    def test_an_agent_is_added_with_a_pinned_command(self, tmp_path: Path) -> None:
        catalog = loaded(tmp_path, '[agents.kimi]\nname = "Kimi"\ncommand = "npx -y @m/kimi-acp@1.2.0"\n')
        kimi = catalog.agents["kimi"]
        assert (kimi.name, kimi.command, kimi.pinned, kimi.version, kimi.fetches) == (
            "Kimi",
            ("npx", "-y", "@m/kimi-acp@1.2.0"),
            True,
            "1.2.0",
            True,
        )
        assert kimi.source == str(tmp_path / "agents.toml")
        assert (kimi.expected_version, kimi.asking.via) == (None, "none")

    @pytest.mark.parametrize(
        "command", ['"npx -y @m/kimi-acp"', '"uvx kimi"', '"/opt/kimi --acp"', '["kimi", "a b"]']
    )
    def test_what_may_change_by_itself_does_not_count_as_pinned(self, tmp_path: Path, command: str) -> None:
        assert not loaded(tmp_path, f"[agents.kimi]\ncommand = {command}\n").agents["kimi"].pinned

    def test_a_re_pin_keeps_what_is_known_of_the_agent(self, tmp_path: Path) -> None:
        text = '[agents.codex]\nversion = "2.7.0"\nenv = {NO_BROWSER = "0", MINE = "1"}\n'
        codex = loaded(tmp_path, text).agents["codex"]
        assert codex.command == ("npx", "-y", "@agentclientprotocol/codex-acp@2.7.0")
        assert (codex.version, codex.expected_version, codex.pinned) == ("2.7.0", "2.7.0", True)
        assert codex.asking == SHIPPED["codex"].asking
        assert codex.env == {"INITIAL_AGENT_MODE": "read-only", "NO_BROWSER": "0", "MINE": "1"}

    def test_a_program_of_ones_own_keeps_the_ask_first_mode_but_not_the_version(self, tmp_path: Path) -> None:
        codex = loaded(tmp_path, '[agents.codex]\ncommand = "/opt/codex-acp"\n').agents["codex"]
        assert (codex.pinned, codex.version, codex.expected_version) == (False, None, None)
        assert codex.asking == SHIPPED["codex"].asking

    def test_a_file_that_does_not_parse_adds_nothing_and_says_where(self, tmp_path: Path) -> None:
        problem = only_problem(tmp_path, '[agents.kimi]\ncommand = "kimi"\n[agents.x\n')
        assert problem.startswith(f"{tmp_path / 'agents.toml'}:3: ")

    @pytest.mark.parametrize(
        ("text", "line", "says"),
        [
            ('[agents.k]\ncommand = "k"\ncomand = "k"\n', 3, "unknown key 'comand'"),
            ('[agents.k]\nname = "K"\n', 1, "command is missing"),
            ("[agents.k]\ncommand = 3\n", 2, "a text or a list"),
            ('[agents.k]\ncommand = "k \'x"\n', 2, "cannot be split"),
            ('[agents.k]\ncommand = " "\n', 2, "empty"),
            ("[agents.k]\ncommand = []\n", 2, "a text or a list"),
            ('[agents.k]\ncommand = "./k"\n', 2, "absolute path"),
            ('[agents.codex]\nversion = "latest"\n', 2, "is a tag"),
            ('[agents.codex]\nversion = "2.6"\n', 2, "is a range"),
            ("[agents.codex]\nversion = 2.6\n", 2, "must be a text"),
            ('[agents.demo]\nversion = "1.2.3"\n', 2, "no package"),
            ('[agents.k]\ncommand = "npx k@1.0.0"\nversion = "1.0.1"\n', 3, "is not the 1.0.0"),
            ('[agents.k]\ncommand = "k"\n[agents.k.env]\nA = 1\n', 3, "env must be"),
            ('[agents.codex]\nattach = "codex resume"\n', 2, "attach must have {session}"),
            ('[agents.codex]\nattach = "{session}"\n', 2, "attach must have {session} among"),
            ('[agents.codex]\nattach = "./codex {session}"\n', 2, "absolute path"),
            ('[agents.codex]\nattach = "codex \'{session}"\n', 2, "the attach cannot be split"),
            ('[agents.custom]\ncommand = "k"\n', 1, "is taken"),
            ('[agents."a b"]\ncommand = "k"\n', 1, "is no id"),
            ('[agent.k]\ncommand = "k"\n', 1, "unknown key 'agent'"),
            ("agents = 3\n", 1, "must be a table"),
        ],
    )
    def test_a_mistake_adds_nothing_and_is_named_with_its_line(
        self, tmp_path: Path, text: str, line: int, says: str
    ) -> None:
        problem = only_problem(tmp_path, text)
        assert problem.startswith(f"{tmp_path / 'agents.toml'}:{line}: ")
        assert says in problem

    def test_one_wrong_table_keeps_the_others_out_too(self, tmp_path: Path) -> None:
        assert "[agents.k]" in only_problem(tmp_path, '[agents.j]\ncommand = "j"\n[agents.k]\nx = 1\n')

    def test_a_version_placeholder_in_a_command_is_filled_in(self, tmp_path: Path) -> None:
        text = '[agents.k]\ncommand = "npx -y k@{version}"\nversion = "1.2.3"\n'
        assert loaded(tmp_path, text).agents["k"].command == ("npx", "-y", "k@1.2.3")


class TestResolve:
    def test_an_id_is_the_agent(self, tmp_path: Path) -> None:
        assert Catalog(SHIPPED).resolve("claude", cwd=tmp_path) is SHIPPED["claude"]

    def test_a_misspelt_id_is_never_launched_and_meets_the_right_one(self, tmp_path: Path) -> None:
        with pytest.raises(NotFound, match="unknown agent 'claud'") as caught:
            Catalog(SHIPPED).resolve("claud", cwd=tmp_path)
        assert caught.value.hint is not None
        assert "claude" in caught.value.hint

    @pytest.mark.parametrize("text", ["zzzzz", ""])
    def test_an_id_like_no_other_meets_the_list(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(NotFound) as caught:
            Catalog(SHIPPED).resolve(text, cwd=tmp_path)
        assert all(agent_id in str(caught.value.hint) for agent_id in SHIPPED)

    def test_text_with_a_space_or_a_slash_is_a_command(self, tmp_path: Path) -> None:
        agent = Catalog(SHIPPED).resolve("/opt/my-agent --acp 'a b'", cwd=tmp_path)
        assert (agent.id, agent.name, agent.source) == ("custom", "my-agent", "command line")
        assert agent.command == ("/opt/my-agent", "--acp", "a b")
        assert not agent.pinned

    def test_a_launcher_with_an_exact_version_is_pinned_on_the_command_line_too(self, tmp_path: Path) -> None:
        assert Catalog(SHIPPED).resolve("npx -y k@1.2.3", cwd=tmp_path).pinned

    def test_a_relative_program_is_the_one_where_the_person_stands(self, tmp_path: Path) -> None:
        agent = Catalog(SHIPPED).resolve("bin/../agent --acp", cwd=tmp_path)
        assert agent.command == (str(tmp_path / "agent"), "--acp")

    def test_the_name_of_an_existing_file_is_a_command_even_with_a_space_in_it(self, tmp_path: Path) -> None:
        for name in ("my agent", "agent"):
            (tmp_path / name).write_text("")
            assert Catalog(SHIPPED).resolve(name, cwd=tmp_path).command == (str(tmp_path / name),)

    def test_a_command_whose_quotes_do_not_close_is_the_persons_mistake(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="cannot be split"):
            Catalog(SHIPPED).resolve("agent 'x", cwd=tmp_path)
