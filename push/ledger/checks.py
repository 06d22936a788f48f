"""What `push verify` asks of push.db in SQL: one query per promise, which returns the rows that break it.

Owns the questions and the sentence for each damage; does not own asking them (`push.ledger.verify`), nor what takes a
row's whole history to judge (`push.ledger.histories`). A sentence holds numbers, states and columns, never a text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from push.ledger.schema import TURN_OPEN


@dataclass(frozen=True, slots=True)
class Check:
    """A promise. `sql` returns a row per damage; `row` names it and `sentence` tells it, with {0}, {1} out of that."""

    code: str
    sql: str
    row: str
    sentence: str


_WITH_REPLY = "('answered','failed')"

CHECKS: Final[tuple[Check, ...]] = (
    Check(
        "reply_missing",
        f"SELECT id, state FROM turn t WHERE state IN {_WITH_REPLY} "
        "AND NOT EXISTS (SELECT 1 FROM outbound WHERE turn_id = t.id)",
        "turn {0}",
        "it is {1}, but no reply to it is there",
    ),
    Check(
        "reply_unexpected",
        "SELECT o.id, t.id, t.state FROM outbound o JOIN turn t ON t.id = o.turn_id "
        f"WHERE t.state NOT IN {_WITH_REPLY}",
        "delivery {0}",
        "it replies to turn {1}, which is {2}",
    ),
    Check(
        "cause_missing",
        "SELECT id, CASE WHEN turn_id IS NULL THEN 'nothing caused it: it belongs to no turn, and is no notice' "
        "WHEN notice IS NOT NULL THEN 'it has two causes: a turn, and what it is a notice of' "
        "ELSE 'the turn that caused it is not there' END FROM outbound o WHERE (turn_id IS NULL) = (notice IS NULL) "
        "OR turn_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM turn WHERE id = o.turn_id)",
        "delivery {0}",
        "{1}",
    ),
    Check(
        "reply_elsewhere",
        "SELECT o.id, t.id FROM outbound o JOIN turn t ON t.id = o.turn_id "
        "WHERE o.conversation_id <> t.conversation_id OR o.channel <> t.channel OR o.target <> t.target",
        "delivery {0}",
        "it replies to turn {1}, but goes to another conversation or address",
    ),
    Check(
        "reply_urgent",
        "SELECT o.id, CASE o.urgent WHEN 1 THEN 'overtakes' ELSE 'does not overtake' END, "
        "coalesce('turn ' || t.id || ' of the lane ' || t.lane, 'no turn') "
        "FROM outbound o LEFT JOIN turn t ON t.id = o.turn_id WHERE o.urgent <> coalesce(t.lane = 'control', 0)",
        "delivery {0}",
        "it {1} others, but answers {2}",
    ),
    Check(
        "history_orphan",
        "SELECT DISTINCT 'turn', row_id FROM transition h WHERE machine = 'turn' "
        "AND NOT EXISTS (SELECT 1 FROM turn WHERE id = h.row_id) UNION ALL "
        "SELECT DISTINCT 'delivery', row_id FROM transition h WHERE machine = 'outbound' "
        "AND NOT EXISTS (SELECT 1 FROM outbound WHERE id = h.row_id)",
        "{0} {1}",
        "it has a history, but the row itself is not there",
    ),
    Check(
        "turn_merged",
        "SELECT t.id, CASE WHEN t.merged_into IS NULL THEN 'it is merged, but a piece of no other turn' "
        "WHEN t.state <> 'merged' THEN 'it is ' || t.state || ', but a piece of another turn' "
        "WHEN l.state = 'merged' THEN 'it is a piece of a turn that is merged itself' "
        "ELSE 'it is a piece of a turn that is not there, or later, or of somebody else' END "
        "FROM turn t LEFT JOIN turn l ON l.id = t.merged_into "
        "WHERE (t.state = 'merged') <> (t.merged_into IS NOT NULL) "
        "OR t.merged_into IS NOT NULL AND (l.id IS NULL OR l.id >= t.id OR l.state = 'merged' "
        "OR l.conversation_id <> t.conversation_id OR l.sender <> t.sender)",
        "turn {0}",
        "{1}",
    ),
    Check(
        "turn_lane",
        "SELECT id, kind, lane, CASE ahead WHEN 1 THEN ', ahead of others' ELSE '' END FROM turn "
        "WHERE lane = 'control' AND (kind <> 'command' OR ahead = 1 OR merged_into IS NOT NULL) "
        "OR ahead = 1 AND kind <> 'message'",
        "turn {0}",
        "it is a {1} in the lane {2}{3}, which there is not",
    ),
    Check(
        "turn_event",
        "SELECT id FROM turn WHERE event_id = ''",
        "turn {0}",
        "it names no event of its channel, so that its message could be accepted twice",
    ),
    Check(
        "turn_text",
        "SELECT id, state FROM turn WHERE trim(coalesce(text, '')) = '' AND erased_at IS NULL",
        "turn {0}",
        "it is {1}, but its message's text is not there",
    ),
    Check(
        "turn_plan",
        "SELECT id, state, attempt FROM turn WHERE attempt > 0 "
        "AND (agent IS NULL OR work_dir IS NULL OR epoch IS NULL OR started_at IS NULL)",
        "turn {0}",
        "it is {1}, run {2}, but how that run was started is not recorded",
    ),
    Check(
        "turn_end_time",
        f"SELECT id, state FROM turn WHERE (state IN {TURN_OPEN}) <> (finished_at IS NULL)",
        "turn {0}",
        "it is {1}, which does not agree with its time of ending",
    ),
    Check(
        "delivery_end_time",
        "SELECT id, state FROM outbound "
        "WHERE state IN ('delivered','failed','dropped') AND finished_at IS NULL "
        "OR state IN ('pending','waiting') AND finished_at IS NOT NULL",
        "delivery {0}",
        "it is {1}, which does not agree with its time of ending",
    ),
    Check(
        "delivery_held",
        "SELECT id, state FROM outbound WHERE held_at IS NOT NULL AND state <> 'unknown'",
        "delivery {0}",
        "it is {1}, but held: nothing would tell whether it may be sent",
    ),
    Check(
        "progress_elsewhere",
        "SELECT t.id FROM progress p JOIN turn t ON t.id = p.turn_id "
        "WHERE p.channel <> t.channel OR p.target <> t.target OR p.receipt = ''",
        "progress of turn {0}",
        "its message stands at another address than the turn's, or has no name",
    ),
    Check(
        "delivery_repeat",
        "SELECT id, 'is marked as a repeat, but none' FROM outbound o WHERE repeat = 1 "
        "AND NOT EXISTS (SELECT 1 FROM part WHERE outbound_id = o.id AND repeats > 0) UNION ALL "
        "SELECT DISTINCT o.id, 'is not marked as a repeat, but one' FROM part p "
        "JOIN outbound o ON o.id = p.outbound_id WHERE p.repeats > 0 AND o.repeat = 0",
        "delivery {0}",
        "it {1} of its parts is",
    ),
    Check(
        "part_receipt",
        "SELECT outbound_id, seq, CASE WHEN delivered_at IS NULL THEN 'has a receipt, but is not delivered' "
        "ELSE 'is delivered, but has no receipt' END "
        "FROM part WHERE (delivered_at IS NULL) <> (coalesce(receipt, '') = '')",
        "delivery {0}",
        "its part {1} {2}",
    ),
    Check(
        "part_undelivered",
        "SELECT o.id, p.seq FROM outbound o JOIN part p ON p.outbound_id = o.id "
        "WHERE o.state = 'delivered' AND p.delivered_at IS NULL",
        "delivery {0}",
        "it is delivered, but its part {1} is not",
    ),
    Check(
        "part_nothing_left",
        "SELECT id, state FROM outbound o WHERE state <> 'delivered' AND NOT EXISTS "
        "(SELECT 1 FROM part WHERE outbound_id = o.id AND delivered_at IS NULL)",
        "delivery {0}",
        "it is {1}, but no part of it is left to deliver",
    ),
    Check(
        "part_sequence",
        "SELECT o.id FROM outbound o LEFT JOIN part p ON p.outbound_id = o.id GROUP BY o.id "
        "HAVING count(p.seq) = 0 OR min(p.seq) <> 0 OR max(p.seq) <> count(*) - 1 "
        "OR max(p.seq) FILTER (WHERE delivered_at IS NOT NULL) > min(p.seq) FILTER (WHERE delivered_at IS NULL)",
        "delivery {0}",
        "its parts do not follow each other from 0, or a later one was delivered before an earlier one",
    ),
    Check(
        "part_text",
        "SELECT outbound_id, seq FROM part p WHERE trim(text) = '' "
        "AND EXISTS (SELECT 1 FROM outbound WHERE id = p.outbound_id AND erased_at IS NULL)",
        "delivery {0}",
        "the text of its part {1} is not there",
    ),
    Check(
        "erased_early",
        f"SELECT 'turn', id, state FROM turn WHERE erased_at IS NOT NULL AND state IN {TURN_OPEN} UNION ALL "
        "SELECT 'delivery', id, state FROM outbound WHERE erased_at IS NOT NULL AND state NOT IN "
        "('delivered','dropped')",
        "{0} {1}",
        "its text was erased, but it is {2}",
    ),
    Check(
        "erased_text",
        "SELECT 'turn', id FROM turn t WHERE erased_at IS NOT NULL AND (text IS NOT NULL OR context IS NOT NULL "
        "OR EXISTS (SELECT 1 FROM revision WHERE turn_id = t.id AND text IS NOT NULL)) UNION ALL "
        "SELECT 'delivery', id FROM outbound o WHERE erased_at IS NOT NULL AND (source IS NOT NULL "
        "OR EXISTS (SELECT 1 FROM part WHERE outbound_id = o.id AND (text <> '' OR entities IS NOT NULL)))",
        "{0} {1}",
        "it counts as erased, but a text of it is there",
    ),
)
