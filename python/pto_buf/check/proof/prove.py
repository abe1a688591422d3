"""The proof for all runs of a kernel: goals, in groups, in stages. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pto_buf.check.doubts import alarm_words, blind_words
from pto_buf.check.facts.facts import Scope
from pto_buf.check.findings import Finding, Status, Verdict
from pto_buf.check.model import Model
from pto_buf.check.program import (
    Await,
    Code,
    Local,
    Lock,
    Program,
    Run,
    SetFlag,
    Signal,
    WaitFlag,
)
from pto_buf.check.proof.alarms import Alarm
from pto_buf.check.proof.explore import Explorer, Setting
from pto_buf.check.proof.ground import Ground, survey_ground
from pto_buf.check.proof.joint import in_step
from pto_buf.check.proof.knowledge import Goal, lay_out
from pto_buf.check.proof.liveness import joins, live_residues, live_variables
from pto_buf.check.proof.outline import enclosing, lines_of, senders, unheard
from pto_buf.check.proof.prepare import Prepared, prepare
from pto_buf.check.proof.stages import BY_CASES, LAST_STAGE, Moduli, demanded, tries
from pto_buf.check.proof.survey import Forms, all_terms_of, between_cores, forms_of, terms_of
from pto_buf.check.proof.tracker import Tracker, make_tracker
from pto_buf.check.proof.windows import Tracking, tracking_forms, trackings
from pto_buf.check.proof.witness import FEW_TRIED, MOST_TRIED, witnesses
from pto_buf.check.runs.concrete import check_run, open_arguments, search
from pto_buf.check.runs.run import Choice
from pto_buf.check.terms import Term
from pto_buf.check.values import ValueSets
from pto_buf.check.whole import Whole, one_core, whole_block

MOST_STATES = 20_000
"""States of one goal in one stage."""

MOST_TOGETHER = 1_500
"""States of several: goals that have nothing to do with each other have as many as there are pairs of their states."""

_PARTS = 4
"""Groups that a group with more states is split into."""

MOST_IN_ALL = 100_000
"""States of all groups and stages: about a minute. What is open then stays open."""

ASSUMPTIONS = (
    "integer arguments are not negative",
    "integers do not overflow",
    "windows of global arrays lie inside them",
    "different pointer arguments are different arrays",
    "arrays that a kernel only reads do not change while it runs",
)

FEW_TRIPS = 3
"""How large arguments are when a wrong run is looked for before the cores of a block are followed out of step."""

_MOST_WITNESSES = 24
_WITNESS_STEPS = 200_000
_WIDER = 4
_E = TypeVar("_E")


Proven = tuple[tuple[Goal, ...], Moduli, int]
"""Goals, the residues that were followed, and the stage."""


@dataclass
class Proof:
    """What was proven, and what stands in the way of the rest."""

    findings: tuple[Finding, ...] = ()
    open: list[str] = field(default_factory=list[str])
    states: int = 0
    groups: list[tuple[tuple[Goal, ...], Moduli, int]] = field(
        default_factory=list[tuple[tuple[Goal, ...], Moduli, int]]
    )
    """The goals that were proven together, what residues were followed, and in which stage."""


@dataclass(frozen=True)
class _Window:
    """What it takes to keep one access to global memory in mind."""

    tracking: Tracking
    tracker: Tracker
    forms: Forms
    setting: Setting


class Prover:
    """For the whole of a program, or for one core of it by itself: then what other cores do orders nothing.

    `only_between`: only what several cores take part in is proven. `most`: how many states all groups and stages may
    have, where nothing but a proof is wanted: no run is looked for that is wrong, and the first goal that stays open
    ends it.
    """

    def __init__(
        self, program: Program, model: Model, whole: Whole, *, only_between: bool = False, most: int | None = None
    ):
        self._program = program
        self._model = model
        self._only_between = only_between
        self._proof_only = most is not None
        self._most = MOST_IN_ALL if most is None else most
        self._prepared: Prepared = prepare(whole.program)
        self._code: Code = self._prepared.program.codes[0]
        self._whole = replace(whole, program=self._prepared.program, code=self._code)
        self._cores = len(whole.kinds)
        joint = self._cores > 1 or len(program.codes) == 1
        values = ValueSets(self._prepared.program, self._code, self._prepared.known)
        self._ground: Ground = survey_ground(self._whole, values, model)
        self._forms = forms_of(self._prepared.program, self._code, values.ends())
        if self._cores > 1 and not whole.in_step:
            between_cores(self._forms, self._whole)
        live = live_variables(self._code, windows=False)
        meet = joins(self._code.instructions)
        self._setting = Setting(self._whole, model, self._ground, live, meet, joint)
        self._lines = lines_of(self._whole, values, model) if joint else {}
        self._unheard = unheard(self._whole, values, model) if joint else []
        self._senders = {line: senders(self._whole, places) for line, places in self._lines.items()}
        self._windows: dict[Goal, _Window] = {
            Goal(window=one.at): self._window(one)
            for one in trackings(self._whole, len(self._prepared.program.variables), values)
            if one.crosses or not only_between
        }
        self._around = enclosing(self._code.instructions)
        self._proof = Proof()
        self._found: dict[object, Finding] = {}
        self._runs: set[object] = set()
        """The runs that were looked at, and are right."""
        self._alarms: dict[Goal, list[Alarm]] = {}
        """For each goal, what may be wrong, the latest, which is the most exact one, first."""

    def _window(self, tracking: Tracking) -> _Window:
        forms = self._forms.copy()
        tracking_forms(forms, tracking)
        forms.close()
        kept = frozenset(var.key for var, _ in tracking.kept)
        live = [keys | kept for keys in live_variables(self._code, windows=True)]
        tracker = make_tracker(tracking, self._model, self._cores)
        return _Window(tracking, tracker, forms, replace(self._setting, live=live))

    # --- goals ---

    def goals(self) -> list[Goal]:
        """Everything to prove."""
        shared = [Goal(atom=atom.number) for atom in self._ground.atoms if len(atom.cores) > 1]
        signals = [*(Goal(line=line) for line in self._lines), *(Goal(lane=at) for at in self._unheard)]
        between = [*signals, *self._windows]
        if self._only_between:
            return [*shared, *between]
        found = [Goal(atom=atom.number) for atom in self._ground.atoms]
        found += [Goal(flag=flag) for flag in self._ground.flags]
        found += [Goal(lane=at) for at in self._ground.loose_lanes]
        found += between
        if self._model.final_barrier:
            found.append(Goal(end=True))
        return found

    def demands(self) -> dict[Goal, Moduli]:
        """For each goal, the residues that the terms deciding it need."""
        goals = self.goals()
        terms: dict[Goal, dict[Term, None]] = defaultdict(dict[Term, None], {goal: {} for goal in goals})
        for (at, number), reach in self._ground.reach.items():
            one = self._code.instructions[at]
            assert isinstance(one, Run)
            where = one.touches[number].where
            address = (where.address,) if isinstance(where, Local) else ()
            for atom in reach.all:
                terms[Goal(atom=atom)].update(dict.fromkeys((*address, *self._around[at])))
        for at, lanes in self._ground.lanes.items():
            one = self._code.instructions[at]
            assert isinstance(one, SetFlag | WaitFlag)
            needed = (one.lane, *self._around[at])
            for lane in lanes:
                terms[Goal(flag=(self._whole.core_of(at), one.src, one.dst, lane))].update(dict.fromkeys(needed))
        for at in self._ground.loose_lanes:
            if Goal(lane=at) in terms:
                terms[Goal(lane=at)].update(dict.fromkeys((*terms_of(self._code.instructions[at]), *self._around[at])))
        for at, locks in self._ground.locks.items():
            one = self._code.instructions[at]
            assert isinstance(one, Lock)
            for lock in locks:
                terms[Goal(flag=lock)].update(dict.fromkeys((one.lane, *self._around[at])))
        for line, places in self._lines.items():
            for at in places:
                one = self._code.instructions[at]
                assert isinstance(one, Signal | Await)
                terms[Goal(line=line)].update(dict.fromkeys((one.lane, *self._around[at])))
        for at in self._unheard:
            one = self._code.instructions[at]
            assert isinstance(one, Await)
            terms[Goal(lane=at)].update(dict.fromkeys((one.lane, *self._around[at])))
        for goal, window in self._windows.items():
            tracking = window.tracking
            terms[goal].update(dict.fromkeys((*(term for _, term in tracking.kept), *tracking.remainders)))
            for at, found in tracking.against.items():
                terms[goal].update(dict.fromkeys(self._around[at]))
                terms[goal].update(dict.fromkeys(gap for one in found for gap in one.gaps))
        cache: dict[tuple[Term, ...], Moduli] = {}
        for found in terms.values():
            if tuple(found) not in cache:
                cache[tuple(found)] = demanded(self._code, found)
        return {goal: cache[tuple(terms[goal])] for goal in goals}

    # --- stages ---

    def prove(self) -> Proof:
        demands = self.demands()
        every = tuple(dict.fromkeys(demands.values()))
        left: dict[Goal, str] = dict.fromkeys(demands, "")
        for stage in range(LAST_STAGE + 1):
            groups: dict[tuple[Moduli, ...], list[Goal]] = {}
            for goal in left:
                groups.setdefault(tries(self._code, stage, demands[goal], every), []).append(goal)
            before = left
            left = {}
            for moduli, goals in groups.items():
                left.update(self._stage(moduli, goals, stage, before))
                if left and self._proof_only and (stage == LAST_STAGE or self._proof.states > self._most):
                    break
            if not left or self._found:
                break
        if not self._found and not self._proof_only:
            for alarm in [alarm for goal in left for alarm in self._alarms.get(goal, ())][:_MOST_WITNESSES]:
                self._confirm(alarm, MOST_TRIED)
            if left and not self._found:
                self._run_past_ends()
        self._proof.findings = tuple(self._found.values())
        self._proof.open = list(dict.fromkeys(left.values()))
        return self._proof

    def _stage(
        self, tries: tuple[Moduli, ...], goals: Sequence[Goal], stage: int, reasons: Mapping[Goal, str]
    ) -> dict[Goal, str]:
        """The goals that none of the tries proves, each with what stood in the way."""
        left = {goal: reasons[goal] for goal in goals}
        for moduli in tries:
            together = tuple(goal for goal in left if goal.window is None and goal.line is None)
            after: dict[Goal, str] = {}
            if together:
                after.update(self._explore(moduli, together, stage))
            for goal in left:
                if goal.window is not None or goal.line is not None:
                    # Each has a history of its own, and several of them as many as there are pairs of histories.
                    after.update(self._explore(moduli, (goal,), stage))
            left = after
        return left

    def _explore(self, moduli: Moduli, goals: Sequence[Goal], stage: int) -> dict[Goal, str]:
        if self._proof.states > self._most:
            return dict.fromkeys(goals, f"more than {self._most} states in all")
        limit = min(MOST_STATES if len(goals) == 1 else MOST_TOGETHER, self._most - self._proof.states + 1)
        outcome = self.explorer(Explorer, moduli, goals, stage, limit).explore()
        self._proof.states += outcome.states
        if not outcome.complete:
            if len(goals) == 1:
                return {goals[0]: f"more than {MOST_STATES} states"}
            size = -(-len(goals) // _PARTS)
            parts = (goals[start : start + size] for start in range(0, len(goals), size))
            return {goal: why for part in parts for goal, why in self._explore(moduli, part, stage).items()}
        left: dict[Goal, str] = {goal: blind_words(goal, self._code, self._ground) for goal in outcome.alarms.blind}
        for alarm in outcome.alarms.alarms:
            self._alarms.setdefault(alarm.goal, []).insert(0, alarm)
        for alarm in () if self._proof_only else outcome.alarms.alarms[:_MOST_WITNESSES]:
            self._confirm(alarm, FEW_TRIED)
        left.update({alarm.goal: alarm_words(alarm, self._code) for alarm in outcome.alarms.alarms})
        proven = tuple(goal for goal in goals if goal not in left)
        if proven:
            self._proof.groups.append((proven, moduli, stage))
        return left

    def explorer(
        self, kind: Callable[..., _E], moduli: Moduli, goals: Sequence[Goal], stage: int, limit: int = MOST_STATES
    ) -> _E:
        """What goes through the states for these goals, at most so many, following these residues."""
        window = self._windows.get(goals[0])
        forms = self._forms if window is None else window.forms
        wider = _WIDER if stage == LAST_STAGE else 0
        followed = {form: (low - wider, high + wider) for form, (low, high) in forms.bounds.items()}
        scope = Scope(followed, dict(moduli), self._prepared.known, by_cases=stage >= BY_CASES)
        residues = live_residues(self._code, terms_of if window is None else all_terms_of, stage > 0)
        setting = replace(self._setting if window is None else window.setting, unites=stage < LAST_STAGE)
        if window is None:
            bits = lay_out(goals, self._ground, self._model, self._cores, self._senders)
            return kind(setting, scope, bits, residues, limit)
        residues = [keys | window.tracking.told for keys in residues]
        return kind(setting, scope, window.tracker.bits, residues, limit, window.tracker)

    @staticmethod
    def follows(goals: Sequence[Goal]) -> bool:
        """Whether `explorer` follows each of these goals: one access is kept in mind by itself."""
        return len(goals) == 1 or (len(goals) > 1 and all(goal.window is None for goal in goals))

    @property
    def cores(self) -> int:
        """How many cores it looks at."""
        return self._cores

    @property
    def in_step(self) -> int:
        """How many like loops of the cores that it looks at have been joined."""
        return self._whole.in_step

    @property
    def joins(self) -> frozenset[int]:
        """The instructions at which states are compared."""
        return self._setting.joins

    @property
    def code(self) -> Code:
        """The code that states refer to."""
        return self._code

    def _confirm(self, alarm: Alarm, tried: int) -> None:
        """Looks for a run that shows it, and keeps all that is wrong in that run."""
        for choice in witnesses(self._prepared, self._whole, alarm.trail, tried):
            if self._shows(choice):
                return

    def _run_past_ends(self) -> None:
        """Looks at runs with arguments just above the large numbers at which loops end: no trail counts up to them."""
        arguments = open_arguments(self._program)
        for end in sorted(set(self._prepared.known.values())):
            past = {var.key: 1 if self._program.variables[var.key].boolean else end + 1 for var in arguments}
            if self._shows(Choice(past)):
                return

    def _shows(self, choice: Choice) -> bool:
        """Whether something is wrong in a run that was not looked at before; it is kept."""
        run = tuple(choice.arguments.items()), choice.outcome_values
        if run in self._runs:
            return False
        self._runs.add(run)
        findings = check_run(self._program, self._model, choice, _WITNESS_STEPS).findings
        for finding in findings:
            self._found.setdefault(finding.key, finding)
        return bool(findings)


def provers(program: Program, model: Model, most: int | None = None) -> Iterator[tuple[Prover, Proof]]:
    """Each part of the proof when it is done. If all are complete, the program is proven.

    Of a mixed kernel each core by itself comes first: what it proves without the others needs no look at all of them
    together.
    """
    if len(program.codes) == 1:
        prover = Prover(program, model, one_core(program), most=most)
        yield prover, prover.prove()
        return
    alone = [Prover(program, model, one_core(program, number), most=most) for number in range(len(program.codes))]
    proofs = [(prover, prover.prove()) for prover in alone]
    wrong = any(proof.findings for _, proof in proofs)
    settled = not any(proof.open for _, proof in proofs)
    if wrong or settled:
        yield from proofs
    if wrong:
        return
    block = whole_block(program)
    searched = most is not None
    for joint in in_step(block):
        prover = Prover(program, model, joint, only_between=settled, most=most)
        proof = prover.prove()
        if proof.open and not proof.findings and not searched:
            searched, proof = True, replace(proof, findings=search(program, model, {}, FEW_TRIPS))
        if proof.findings or not proof.open:
            yield prover, proof
            return
    prover = Prover(program, model, block, only_between=settled, most=most)
    yield prover, prover.prove()


def prove(program: Program, model: Model, most: int | None = None) -> Verdict:
    """The verdict for every run. With `most`, nothing but a proof of at most so many states is wanted."""
    proofs = [proof for _, proof in provers(program, model, most)]
    open = [reason for proof in proofs for reason in proof.open]
    more = {finding.key: finding for proof in proofs for finding in proof.findings}
    if not more and not open:
        return Verdict(Status.PROVEN, program.name, assumptions=ASSUMPTIONS)
    for finding in search(program, model, {}) if most is None else ():
        more.setdefault(finding.key, finding)
    if more:
        return Verdict(Status.WRONG, program.name, tuple(more.values()))
    return Verdict(Status.INCOMPLETE, program.name, reason="; ".join(open[:3]))
