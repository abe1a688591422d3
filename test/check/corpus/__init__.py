"""Right and wrong forms of reported failures, as `pto`. Names are those of the collection they are retold in."""

from collections.abc import Mapping

from check.corpus import flags, slots
from check.corpus.case import Case

CASES: Mapping[str, Case] = {**flags.CASES, **slots.CASES}
