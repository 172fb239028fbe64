// One transaction, from its acceptance to its end, as a line from above to below.
import type { ComponentChildren } from 'preact'
import { link } from '../address'
import { urlOf } from '../api'
import { asker, asking, Question } from '../dialog'
import { Copy } from '../parts'
import { live, now, serverNow } from '../store'
import { Drawn, Instant, Name, span, zone } from '../text'
import { amount, type Attempt, type Detailed, ends, exact, isHeldUp, told, stateOf } from './money'
import { Before, Facts, Mark, Sentence, type Tone } from './parts'
import { useDatabase } from './reading'

const pace = { every: 5000, least: 500, patience: 8000 }

export function OneTransaction({ id }: { id: string }) {
  void now.value
  const { reading, sight } = useDatabase<Detailed>('v1/transactions/' + encodeURIComponent(id), {}, told, pace)
  const t = reading.value
  if (!t) {
    const gone = reading.refused?.status === 404
    return (
      <>
        <p class="crumb"><a href={link('transactions')}>Transactions</a></p>
        {gone ? <section class="panel"><h1><Name of={id} most={40} /></h1><p>This node knows no transaction with this ID, or your token does not see it.</p></section>
          : <Sentence title="Transaction" sight={sight} said={null} database />}
      </>
    )
  }
  const known = sight.known || t.outcome !== null
  return (
    <>
      <p class="crumb"><a href={link('transactions')}>Transactions</a></p>
      <section class={'panel one ' + (known ? stateOf(t).tone : 'unknown')}>
        <div class="line"><h1><Name of={t.id} most={48} /></h1><span class="right"><Mark known={known} {...stateOf(t)} /></span></div>
        <Before sight={sight} />
        {t.why ? <p class="obstacle bad">✕ <Drawn text={t.why} /></p> : null}
        {t.outcome === 'reverted' ? <p class="obstacle bad">✕ Its call failed: {t.revert?.reason ? <><Drawn text={t.revert.reason} /> (replayed on the state after block {t.revert.replayed_at})</> : <>the reason is not known{t.revert?.unknown ? <>: <Drawn text={t.revert.unknown} /></> : null}</>}</p> : null}
        {t.outcome === 'partly' ? <p class="obstacle bad">! A part of its call was carried out and cannot be undone, another part was not{t.effect?.startsWith('partly: ') ? <>: <Drawn text={t.effect.slice(8)} /> failed</> : null}. Look at what it has done before you send anything in its place.</p> : null}
        {t.outcome === 'unknown' ? <p class="obstacle warn">? It is final, and no node keeps any more what it has done: it may have had its effect, a part of it, or none. Look at what it was to change before you count on it or send it again.</p> : null}
        <Facts all={facts(t)} />
        <div class="buttons">
          <Copy text={t.id}>Copy the ID</Copy>
          <Copy text={`curl -H "Authorization: Bearer $TOKEN" '${urlOf('v1/transactions/' + encodeURIComponent(t.id)).href.replaceAll("'", '%27')}'`}>Copy as curl</Copy>
          <button type="button" disabled={!live.value || !sight.known || t.outcome !== null || t.cancelling} onClick={() => ask(t)}>{t.cancelling ? 'Cancelling' : 'Cancel…'}</button>
        </div>
      </section>
      <section class={'panel' + (known ? '' : ' old')}>
        <div class="line"><h2>From acceptance to the end</h2><span class="faint small">times of {zone}</span></div>
        <Course t={t} known={known} />
      </section>
      <Asked draw={(as, close) => <Question deed={cancelOf(as, sight.known)} close={close} />} />
    </>
  )
}

/** The one whose cancellation is asked for, as it was then. */
const { ask, Asked } = asking<Detailed>()

function facts(t: Detailed): [string, ComponentChildren][] {
  const bytes = (t.data.length - 2) / 2
  return [
    ['Account', <><a href={link('transactions', { account: t.account })}><Name of={t.account} /></a> <span class="faint">on <Name of={t.chain} /></span></>],
    ['To', t.to ? <><Name of={t.to} most={20} /> <Copy text={t.to}>Copy</Copy></> : 'creates a contract'],
    ['Value', <span title={exact(t.value)}>{amount(t.value)}</span>],
    ['Data', bytes > 0 ? <>{bytes.toLocaleString('en')} {bytes === 1 ? 'byte' : 'bytes'}, <span class="name">{t.data.slice(0, 10)}{bytes > 4 ? '…' : ''}</span> <Copy text={t.data}>Copy</Copy></> : 'none'],
    ['Offers', <>{t.speed}{t.max_fee ? <span title={exact(t.max_fee)}>, at most {amount(t.max_fee)} for a unit of gas</span> : null}{t.valid_until ? <>, until <Instant at={t.valid_until} dated /></> : null}{t.last_block ? `, until block ${t.last_block.toLocaleString('en')}` : ''}</>],
    ['Key', t.idempotency_key ? <><Name of={t.idempotency_key} /> <Copy text={t.idempotency_key}>Copy</Copy></> : 'none'],
  ]
}

interface Step { tone: Tone; sign: string; title: ComponentChildren; at: string | null; more?: ComponentChildren }

/** stepsOf is what has happened, in its order, and what is waited for. */
function stepsOf(t: Detailed): Step[] {
  const steps: Step[] = [{ tone: 'good', sign: '✓', title: <>Accepted by <Name of={t.creator} most={20} />, and stored</>, at: t.created_at }]
  const first = t.attempts[0]
  if (t.nonce !== null) steps.push({ tone: 'good', sign: '✓', title: <>Nonce <b>{t.nonce.toLocaleString('en')}</b></>, at: first?.signed_at ?? null })
  t.attempts.forEach((a, i) => steps.push(attemptStep(a, i)))
  if (t.block) {
    steps.push({
      tone: 'good', sign: '✓', title: <>In block <b>{t.block.number.toLocaleString('en')}</b></>, at: t.outcome ? null : t.changed_at,
      more: <><Name of={t.block.hash} most={26} /> <Copy text={t.block.hash}>Copy</Copy>{t.receipt ? <span class="faint" title={exact(t.receipt.fee)}> · paid {amount(t.receipt.fee)}, {t.receipt.gas_used.toLocaleString('en')} gas, {t.receipt.log_count.toLocaleString('en')} logs</span> : t.receipt_unknown ? <span class="faint"> · what it did is not known: <Drawn text={t.receipt_unknown} /></span> : null}</>,
    })
  }
  if (t.witnesses) steps.push({ tone: 'good', sign: '✓', title: 'Two witnesses call it final', at: null, more: t.witnesses[0] === t.witnesses[1] ? <><Name of={t.witnesses[0] ?? ''} most={60} />, asked twice</> : <>{t.witnesses.map((w, i) => <>{i > 0 ? ' and ' : ''}<Name of={w} most={60} /></>)}</> })
  if (t.outcome) steps.push({ ...ends[t.outcome], title: <b>{{ succeeded: 'Final: it is done', reverted: 'Final, without effect', partly: 'Final, and a part of it was done', unknown: 'Final, and nobody can say what it has done', cancelled: 'Cancelled', rejected: 'Rejected', expired: 'Expired' }[t.outcome]}</b>, at: t.nonce === null ? null : t.changed_at })
  else if (t.waiting_for) steps.push(waitingStep(t))
  return steps
}

function attemptStep(a: Attempt, i: number): Step {
  return {
    tone: a.error ? 'warn' : a.in_block ? 'good' : 'calm', sign: a.error ? '!' : a.in_block ? '✓' : '▸', at: a.signed_at,
    title: <>{a.filler ? 'One that does nothing' : `Attempt ${i + 1}`} signed{a.in_block ? ', the one in the block' : ''}</>,
    more: <>
      <Name of={a.hash} most={26} /> <Copy text={a.hash}>Copy</Copy>
      <span class="faint" title={`${exact(a.max_fee)}, tip ${exact(a.max_tip)}`}> · offers {a.max_fee ? amount(a.max_fee) : 'what the chain asks'}{a.max_tip ? `, tip ${amount(a.max_tip)}` : ''}, {a.gas.toLocaleString('en')} gas</span>
      {a.error ? <span class="warn"> · <Drawn text={a.error} /></span> : null}
    </>,
  }
}

function waitingStep(t: Detailed): Step {
  const w = t.waiting_for!
  const held = isHeldUp(w)
  return {
    tone: held ? 'warn' : 'calm', sign: held ? '!' : '◷', at: null, title: <b>{t.cancelling ? 'Being cancelled' : held ? 'Held up' : 'Waits'}</b>,
    more: <>
      {held ? '' : 'for '}<Drawn text={w.reason} />{w.since ? <>, for {span(serverNow() - Date.parse(w.since))}</> : null}{w.refusals ? `, refused ${w.refusals} times` : ''}{w.until ? <>; tried again at <Instant at={w.until} /></> : null}
      {w.intent ? <>. <a href={link('transactions/t', { id: w.intent })}>The one in the way</a>: if it is cancelled, the others go on</> : null}
    </>,
  }
}

function Course({ t, known }: { t: Detailed; known: boolean }) {
  let before: string | null = null
  return (
    <ol class="course">{stepsOf(t).map((s, i) => {
      const took: number | null = s.at && before ? Date.parse(s.at) - Date.parse(before) : null
      before = s.at ?? before
      const open = !t.outcome && i === stepsOf(t).length - 1
      return (
        <li key={i} class={open && !known ? 'unknown' : s.tone}>
          <span class="knot" aria-hidden="true">{open && !known ? '?' : s.sign}</span>
          <div class="line"><span>{s.title}</span><span class="right faint small">{s.at ? <Instant at={s.at} dated /> : null}{took !== null ? ` · after ${span(Math.max(0, took))}` : ''}</span></div>
          {s.more ? <p class="small">{s.more}</p> : null}
        </li>
      )
    })}</ol>
  )
}

/** cancelOf says what a cancellation will do. */
function cancelOf(t: Detailed, known: boolean) {
  const says: ComponentChildren[] = t.nonce === null
    ? [<>It has no nonce yet: it is cancelled at once, and nothing of it reaches the chain.</>, <>Those behind it go on.</>]
    : [
        <>It has the nonce <b>{t.nonce}</b>, so a transaction that does nothing is sent with the same nonce and a higher fee, which <Name of={t.account} /> pays.</>,
        <>One of the two gets into the chain: <b>it may still be carried out</b>{t.block ? `, and most likely is, since it is in block ${t.block.number.toLocaleString('en')} already` : ''}. It is cancelled once its state says so.</>,
        <>Those behind it wait for this nonce until then.</>,
      ]
  return {
    title: <>Cancel <Name of={t.id} most={24} /></>, verb: 'Cancel it', path: `v1/transactions/${encodeURIComponent(t.id)}/cancel`, body: () => ({}), may: live.value && known && t.outcome === null,
    says: [...says, <>The node’s log has {asker()} as the one that asked.</>],
    done: (got: Record<string, unknown>) => (got['fate'] === 'cancelled' ? 'It is cancelled.' : 'The cancellation is stored. Its state says what came of it.'),
  }
}
