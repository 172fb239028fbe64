// Handing a scope over.
import { useSignal } from '@preact/signals'
import { asker, asking, Question } from './dialog'
import type { Row } from './model'
import { Holder } from './parts'
import { live, rows } from './store'
import { Name, plain, span } from './text'

/** The scope whose handover is asked for, as it was then. */
const { ask, Asked } = asking<Row>()

export const mayHandOver = (r: Row) => live.value && r.state !== 'nobody' && r.state !== 'released' && r.epoch > 0

/** HandOver opens the question. */
export function HandOver({ row }: { row: Row }) {
  return <button type="button" disabled={!mayHandOver(row)} onClick={() => ask(row)}>Hand over…</button>
}

const longest = 30_000

/** HandOverDialog is on the page once. */
export const HandOverDialog = () => <Asked draw={(row, close) => <HandingOver row={row} close={close} />} />

function HandingOver({ row, close }: { row: Row; close: () => void }) {
  const to = useSignal('')
  const present = rows.value.find((r) => r.scope === row.scope)
  const others = row.candidates.filter((c) => c !== row.holder)
  return (
    <Question close={close} deed={{
      title: <>Hand over <Name of={row.scope} /></>, verb: 'Hand over', waits: 'Waiting for acts to end…', may: mayHandOver(row),
      path: 'v1/drain', patience: longest + 15_000, body: () => ({ scope: row.scope, if_epoch: row.epoch, timeout_ms: longest, ...(to.value ? { to: to.value } : {}) }),
      says: [
        <><Holder of={row.holder} /> leads at epoch <b>{row.epoch}</b>. It shuts its gate at once and lets acts under way end, for {span(longest)} at most.</>,
        to.value ? <>Then <Holder of={to.value} leads={false} /> leads: others wait for a moment.</>
          : others.length > 0 ? <>Then {others.length === 1 ? <Holder of={others[0]!} leads={false} /> : `the first of ${others.length} other candidates`} leads.</>
          : <b>There is no other candidate: nobody leads until one comes, or <Name of={row.holder} /> again.</b>,
        <>If acts do not end in time, the successor waits {row.lease_ms ? span(row.lease_ms) : 'a lease'} as after a crash.</>,
        <>The history shows {asker()} as the one that asked.</>,
      ],
      fields: others.length > 0 ? (
        <label>To <select value={to.value} onChange={(e) => (to.value = e.currentTarget.value)}>
          <option value="">the first that is ready</option>
          {others.map((c) => <option value={c}>{plain(c)}</option>)}
        </select></label>
      ) : null,
      changed: present && present.epoch !== row.epoch ? `It has changed hands since: epoch ${present.epoch}. Close this and look again.` : null,
      done: (got) => `It was given up, and the history names ${plain(String(got.actor))} as the one that asked.`,
    }} />
  )
}
