// Private contracts of this organisation's node: who coordinates, how far the members are, what is in flight, and what became of an intent.
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { link, view } from '../address'
import { random, read, type Refusal } from '../api'
import { asker, asking, type Deed, Question } from '../dialog'
import { bad, calm, good, tell, warn } from '../model'
import { Copy, Holder } from '../parts'
import { listen, live, now, rows, serverNow, session } from '../store'
import { count, Drawn, Instant, Name, plain, span, zone } from '../text'
import { Banner, Bar, Before, Facts, Mark, type Said, Sentence, short, type Tone, Who, type Word } from './parts'
import { ofDatabase, useReading, useSight } from './reading'
import { Ring } from './ring'

interface Member { name: string; account: string; may_coordinate: boolean; this_node: boolean; final: number | null; heard_at: string | null; differs: boolean; signs_wrongly: boolean; lands_nothing: boolean }

interface Contract {
  as_of: string
  address: string
  chain: string
  domain: string
  endorsements: number
  warning?: string
  head: number | null
  final: number | null
  unread?: string
  range: number | null
  range_size: number
  takes: number | null
  coordinator: string | null
  next_coordinator: string | null
  order: string[]
  next_order: string[]
  open: Record<string, number>
  coordinating: Record<string, number>
  missing: number
  landed: number
  skipped: Record<string, number>
  unsigned?: string
  waits?: string
  nudges: number
  drained: boolean
  members: Member[]
}

interface Transaction { id: string; contract: string; idempotency_key: string; request: unknown; deadline?: number; fate: 'open' | 'confirmed' | 'reverted'; why?: string; attempt: string | null; block: number | null; accepted_at: string }

interface Moment { at: string; event: string; state: string; node?: string; attempt?: string; endorsers?: string[]; block?: number; why?: string; times?: number }

interface Told extends Transaction { as_of: string; story: Moment[] }

// The ways of an intent, and of a piece of work, in their order; what is not named here stands at the end.
const states = ['storing', 'waiting', 'delegated', 'accepted', 'granting', 'granted', 'noting', 'dispatched', 'included', 'ending', 'confirming', 'reverting']
const stages = ['pooled', 'assembling', 'endorsing', 'ready', 'granting', 'storing', 'dispatched', 'included', 'over']

const sum = (of: Record<string, number>) => Object.values(of).reduce((a, b) => a + b, 0)

const outOf = (c: Contract) => c.members.filter((m) => m.differs || m.signs_wrongly || m.lands_nothing)

function standOf(c: Contract): Word {
  const out = outOf(c).length
  if (c.unsigned) return bad('signs nothing')
  if (c.waits) return bad('nothing lands')
  if (out > 0) return warn(`${count(out, 'member')} at odds`)
  if (c.missing > 0) return warn('contents are missing')
  if (c.unread) return calm(sum(c.open) > 0 ? 'is not read' : 'sleeps')
  if (c.drained) return calm('coordinates no more')
  return good('goes on')
}

const tones = ['bad', 'warn', 'calm', 'good']

const worstFirst = (all: Contract[]) => [...all].sort((a, b) => tones.indexOf(standOf(a).tone) - tones.indexOf(standOf(b).tone) || (a.address < b.address ? -1 : 1))

function saidOf(all: Contract[]): Said {
  const of = (tone: Tone) => all.filter((c) => standOf(c).tone === tone)
  const open = all.reduce((n, c) => n + sum(c.open), 0)
  const work = all.reduce((n, c) => n + sum(c.coordinating), 0)
  const more = `${open === 0 ? 'None of this node’s transactions is open' : `${count(open, 'transaction')} of this node ${open === 1 ? 'is' : 'are'} open`}, and it coordinates ${work === 0 ? 'none' : work.toLocaleString('en')}.`
  const [ill, odd] = [of('bad'), of('warn')]
  const contracts = count(all.length, 'contract')
  if (ill.length > 0) return tell(bad, `${ill.length} of ${contracts} ${ill.length === 1 ? 'does' : 'do'} not go on`, more)
  if (odd.length > 0) return tell(warn, `${odd.length} of ${contracts} may need somebody`, more)
  if (of('good').length === 0) return tell(calm, all.length === 1 ? 'The one contract is at rest' : `All ${contracts} are at rest`, more)
  return tell(good, all.length === 1 ? 'The one contract goes on' : `All ${contracts} go on`, more)
}

const has = (part: string) => session.value?.parts?.includes(part) !== false

/** Elsewhere says that another process of the organisation runs its node. */
function Elsewhere() {
  const leads = rows.value.filter((r) => r.scope.startsWith('sequencer:') && r.holder)
  return (
    <Banner tone="calm" sign="○" text={has('contracts') ? 'Another process of this organisation runs its contracts' : 'This node has no private contract'}>
      {!has('contracts') ? 'A [[contracts]] table in its configuration gives it one: docs/contracts.md says how.'
          : leads.length === 0 ? 'Nobody leads it at this moment.' : <>Open the page of the one that leads: {leads.map((r, i) => <span key={r.scope}>{i > 0 ? ', ' : ''}<Holder of={r.holder} /> leads <a href={link('leaders/s', { scope: r.scope })}><Name of={r.scope} /></a></span>)}.</>}
    </Banner>
  )
}

/** Page is the list, one of them, or one transaction of one of them. */
export function Page() {
  const address = view.value.query.get('address') ?? ''
  const id = view.value.query.get('id') ?? ''
  if (id && address) return <OneTransaction key={id} address={address} id={id} />
  return <All key="all" address={address} />
}

function All({ address }: { address: string }) {
  const reading = useReading<{ contracts: Contract[] }>('v1/contracts', {}, ['contract'])
  const sight = useSight(reading)
  const { value, refused } = reading.value
  const elsewhere = refused?.type?.endsWith(':not-leading')
  const seen = ofDatabase(sight, value !== null)
  const known = seen.known
  const all = worstFirst(value?.contracts ?? [])
  const chosen = all.find((c) => c.address.toLowerCase() === address.toLowerCase()) ?? (address ? undefined : all[0])
  if (elsewhere && live.value) return <Elsewhere />
  return (
    <div class={'wing' + (known ? '' : ' unsure')}>
      <Sentence title="Contracts" database sight={seen} said={value ? saidOf(all) : null} />
      {all.length > 1 ? (
        <ul class="choices" aria-label="Contracts">
          {all.map((c) => <li key={c.address}><a class="choice" data-row href={link('contracts', { address: c.address })} aria-current={c === chosen ? 'true' : undefined}><Name of={c.address} most={14} /><span class="faint small"><Name of={c.domain} most={16} /></span><Mark known={known} {...standOf(c)} /></a></li>)}
        </ul>
      ) : null}
      {address && !chosen && value ? <p class="panel">This node has no contract <Name of={address} most={60} />. <a href={link('contracts')}>Show those that it has</a></p> : null}
      {chosen ? <One key={chosen.address} c={chosen} known={known} /> : null}
    </div>
  )
}

/** One is a contract, as the list has it: to ask for it alone would wake one that sleeps, as long as somebody looks. */
function One({ c, known }: { c: Contract; known: boolean }) {
  const stand = standOf(c)
  return (
    <>
      <section class={'panel state-edge ' + (known ? stand.tone : 'unknown')} aria-label="The contract">
        <div class="line"><h2><Name of={c.address} most={46} /></h2><Copy text={c.address}>Copy</Copy><span class="right"><Mark known={known} {...stand} /></span></div>
        <Warnings c={c} known={known} />
        <Facts all={[
          ['Coordinates now', c.coordinator ? <span class="big"><Who of={c.coordinator} among={namesOf(c)} leads most={24} /></span> : <span class="big">not known</span>],
          ['Then', c.next_coordinator ? <Who of={c.next_coordinator} among={namesOf(c)} most={24} /> : '–'],
          ['Chain', <><Name of={c.chain} most={24} />{c.head !== null ? `, head ${c.head.toLocaleString('en')}` : ''}{c.final !== null ? `, final ${c.final.toLocaleString('en')}` : ''}</>],
          ['Range', c.range === null ? `of ${c.range_size.toLocaleString('en')} blocks` : `${c.range.toLocaleString('en')}, of ${count(c.range_size, 'block')}${c.takes ? `; a transaction takes ${c.takes}` : ''}`],
          ['Endorsed by', `${c.endorsements} of ${count(c.members.length, 'member')}`],
          ['Domain', <Name of={c.domain} most={24} />],
          ['Landed since the start', <>{c.landed.toLocaleString('en')}{sum(c.skipped) > 0 ? <span class={known ? 'warn' : ''}>, {sum(c.skipped).toLocaleString('en')} skipped: {Object.entries(c.skipped).map(([why, n]) => `${plain(why)} ${n}`).join(', ')}</span> : null}</>],
          ['Nudges', c.nudges.toLocaleString('en')],
        ]} />
        <div class="buttons">
          {c.unread ? <button type="button" disabled={!known} onClick={() => void read(`v1/contracts/${c.address}`).catch(() => {})}>Wake it</button> : null}
          <button type="button" disabled={!known} onClick={() => ask(sending(c))}>Send…</button>
          <button type="button" disabled={!known} onClick={() => ask(draining(c))}>{c.drained ? 'Coordinate again…' : 'Coordinate no more…'}</button>
        </div>
      </section>
      <div class="halves">
        <section class="panel" aria-label="The ring">
          <h2>Ring of this range and the next</h2>
          <div class="ring-box"><Ring order={c.order} next={c.next_order[0] ?? ''} part={doneOf(c)} known={known} hueOf={(name) => Math.max(0, namesOf(c).indexOf(name)) % 5} /><Seats c={c} /></div>
        </section>
        <Heights c={c} known={known} />
      </div>
      <section class="panel" aria-label="In flight">
        <h2>In flight</h2>
        <div class="halves">
          <Flight title="This node’s transactions, by state" of={c.open} order={states} none="none is open" known={known} />
          <Flight title="What it coordinates, by stage" of={c.coordinating} order={stages} none={c.drained ? 'nothing: it coordinates no more' : 'nothing'} known={known} />
        </div>
      </section>
      <Transactions key={c.address} c={c} known={known} />
      <Asked draw={(deed, close) => <Question deed={{ ...deed, may: known }} close={close} />} />
    </>
  )
}

/** What somebody is about to do. */
const { ask, Asked } = asking<Deed>()

const namesOf = (c: Contract) => c.members.map((m) => m.name)

const doneOf = (c: Contract) => (c.final === null ? 0 : ((c.final + 1) % c.range_size) / c.range_size)

function Warnings({ c, known }: { c: Contract; known: boolean }) {
  const all: [string, string | undefined, Tone][] = [
    ['It signs nothing: ', c.unsigned, 'bad'], ['Nothing lands: ', c.waits, 'bad'], ['Mind: ', c.warning, 'warn'],
    ['Contents: ', c.missing > 0 ? `${count(c.missing, 'attempt')} on the ledger whose contents this node lacks; it asks the members for them` : undefined, 'warn'],
    ['Not read: ', c.unread, 'calm'],
    ['Drained: ', c.drained ? 'this node coordinates it no more, until it is asked to again or starts anew' : undefined, 'calm'],
  ]
  return <>{all.map(([what, why, tone]) => (why ? <p key={what} class={'obstacle ' + (known ? tone : '')}><b>{what}</b><Drawn text={why} /></p> : null))}</>
}

/** Seats are the ring as a list: who has which place in this range, and in the next. */
function Seats({ c }: { c: Contract }) {
  if (c.order.length === 0) return <p class="faint">No final block is known, and so nobody is ranked.</p>
  return (
    <ol class="seats">
      {c.order.map((name, i) => {
        const then = c.next_order.indexOf(name)
        return <li key={name}><b class="number">{i + 1}</b> <span class="cut"><Who of={name} among={namesOf(c)} leads={i === 0} most={22} /></span> <span class="small faint right">{then === 0 ? 'coordinates next' : `then ${then + 1}`}</span></li>
      })}
    </ol>
  )
}

function Heights({ c, known }: { c: Contract; known: boolean }) {
  void now.value
  const finals = c.members.map((m) => m.final ?? 0)
  const most = Math.max(...finals, c.final ?? 0)
  const least = Math.min(...finals.filter((f) => f > 0), most)
  const window = Math.max(most - least, 10) * 1.25
  return (
    <section class="panel" aria-label="Heights">
      <h2>Heights against each other</h2>
      <ul class="rows">
        {c.members.map((m) => {
          const behind = most - (m.final ?? most)
          const odd = [m.differs && 'declares another contract', m.signs_wrongly && 'signs wrongly, and is left out', m.lands_nothing && 'lands nothing, and is left out'].filter(Boolean).join('; ')
          const heard = m.heard_at ? serverNow() - Date.parse(m.heard_at) : 0
          return (
            <li key={m.account} class="member" title={m.account}>
              <span class="cut"><Who of={m.name} among={namesOf(c)} leads={m.name === c.coordinator} most={24} />{m.this_node ? <span class="faint"> this node</span> : m.may_coordinate ? null : <span class="faint"> endorses only</span>}</span>
              <span class="measure">{m.final === null ? <span class="faint">it has spoken of no block</span> : <><Bar part={1 - behind / window} tone={!known ? 'calm' : behind > c.range_size ? 'warn' : 'good'} /><span class="number">{m.final.toLocaleString('en')}{behind > 0 ? <span class="faint"> −{behind.toLocaleString('en')}</span> : null}</span></>}</span>
              <span class="small faint right">{m.this_node ? '' : m.heard_at === null ? 'not heard' : heard < 60_000 ? 'heard lately' : `heard ${span(heard)} ago`}</span>
              {odd ? <span class={'small whole' + (known ? ' warn' : '')}>! {odd}</span> : null}
            </li>
          )
        })}
      </ul>
    </section>
  )
}

function Flight({ title, of, order, none, known }: { title: string; of: Record<string, number>; order: string[]; none: string; known: boolean }) {
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length)
  const all = Object.entries(of).filter(([, n]) => n > 0).sort((a, b) => rank(a[0]) - rank(b[0]) || (a[0] < b[0] ? -1 : 1))
  const most = Math.max(1, ...all.map(([, n]) => n))
  return (
    <div>
      <h3>{title}</h3>
      {all.length === 0 ? <p class="faint">{none}</p> : (
        <ul class="rows">{all.map(([name, n]) => <li key={name} class="flight"><span>{plain(name)}</span><Bar part={n / most} tone={known ? 'good' : 'calm'} /><span class="number">{n.toLocaleString('en')}</span></li>)}</ul>
      )}
    </div>
  )
}

const fates: Record<Transaction['fate'], Word> = {
  open: calm('open', '◷'), confirmed: good('confirmed'), reverted: warn('reverted'),
}

const page = 50

function Transactions({ c, known }: { c: Contract; known: boolean }) {
  const list = useSignal<{ all: Transaction[]; next?: number; fault: string; busy: boolean }>({ all: [], fault: '', busy: true })
  const path = `v1/contracts/${c.address}/transactions`
  const fill = async (before?: number) => {
    list.value = { ...list.value, busy: true }
    try {
      const got = await read<{ transactions: Transaction[]; next_before?: number }>(path, { limit: page, before })
      list.value = { all: before ? [...list.value.all, ...got.transactions] : merged(got.transactions, list.value.all), next: before || list.value.all.length === 0 ? got.next_before : list.value.next, fault: '', busy: false }
    } catch (e) {
      list.value = { ...list.value, fault: (e as Refusal).message, busy: false }
    }
  }
  useEffect(() => {
    let timer = 0
    const hasten = () => {
      if (!timer) timer = window.setTimeout(() => { timer = 0; void fill() }, 500)
    }
    const deaf = listen(['contract', 'gap'], hasten)
    void fill()
    return () => {
      clearTimeout(timer)
      deaf()
    }
  }, [])
  return (
    <section class="panel" aria-label="Transactions">
      <div class="line"><h2>Transactions of this node’s users</h2><span class="faint small">{zone}</span></div>
      {list.value.fault ? <p class="warn" role="alert">! They could not be read: {plain(list.value.fault)}</p> : null}
      {list.value.all.length === 0 && !list.value.fault ? <p class="faint">{list.value.busy ? 'Asking the node…' : <>None yet. <code>conch contract send</code> sends one, and so does the button above.</>}</p> : null}
      <ul class="rows">
        {list.value.all.map((t) => (
          <li key={t.id} class="intent">
            <a class="cut" data-row href={link('contracts', { address: c.address, id: t.id })}><Name of={t.idempotency_key || t.id} most={34} /></a>
            <Mark known={known || t.fate !== 'open'} {...fates[t.fate]} />
            <span class="cut small faint" title={plain(short(t.request)).slice(0, 1000)}><Drawn text={t.why ? t.why.slice(0, 200) : short(t.request).slice(0, 200)} /></span>
            <span class="small faint right"><Instant at={t.accepted_at} dated /></span>
            <span class="deed">{t.fate === 'open' ? <button type="button" disabled={!known} onClick={() => ask(cancelling(c, t))}>Cancel…</button> : null}</span>
          </li>
        ))}
      </ul>
      {list.value.next ? <div class="buttons"><button type="button" disabled={list.value.busy} onClick={() => void fill(list.value.next)}>{list.value.busy ? 'Reading…' : `Read ${page} older`}</button></div> : null}
    </section>
  )
}

function merged(fresh: Transaction[], had: Transaction[]): Transaction[] {
  const ids = new Set(fresh.map((t) => t.id))
  return [...fresh, ...had.filter((t) => !ids.has(t.id))]
}

function sending(c: Contract): Deed {
  const of = { request: '', key: 'page-' + random(8), deadline: '' }
  return {
    title: <>Send to <Name of={c.address} most={24} /></>, verb: 'Send', may: true, path: `v1/contracts/${c.address}/transactions`,
    says: [
      <>This node stores it, and then owns it until it is confirmed or reverted. {c.coordinator ? <>It goes to <Who of={c.coordinator} among={namesOf(c)} leads /> first, and {count(c.endorsements, 'member')} of {c.members.length} must endorse it.</> : null}</>,
      <>It is carried out once for each key: sent again with the same one, it is the same transaction.</>,
      <>The node’s log shows {asker()} as the one that asked.</>,
    ],
    fields: (
      <>
        <label>What the domain <Name of={c.domain} /> takes, as JSON <textarea rows={5} spellcheck={false} placeholder={'{"pay": {"to": "…", "amount": 1}}'} onInput={(e) => (of.request = e.currentTarget.value)} /></label>
        <label>Key <input defaultValue={of.key} spellcheck={false} onInput={(e) => (of.key = e.currentTarget.value.trim())} /></label>
        <label>Last block that is of use (empty: any) <input inputMode="numeric" onInput={(e) => (of.deadline = e.currentTarget.value.trim())} /></label>
      </>
    ),
    body: () => {
      try {
        const request: unknown = JSON.parse(of.request)
        if (of.deadline && !/^\d+$/.test(of.deadline)) return 'The last block is no number.'
        return { request, idempotency_key: of.key, ...(of.deadline ? { deadline: Number(of.deadline) } : {}) }
      } catch (e) {
        return `What the domain takes is no JSON: ${(e as Error).message}`
      }
    },
    done: (got) => <>It is stored. <a href={link('contracts', { address: c.address, id: String(got.id) })}>See what becomes of it</a></>,
  }
}

function cancelling(c: Contract, t: Transaction): Deed {
  return {
    title: <>Cancel <Name of={t.idempotency_key || t.id} most={30} /></>, verb: 'Cancel it', may: true, path: `v1/contracts/${c.address}/transactions/${t.id}/cancel`,
    says: [
      <>This node gives it up: it ends as reverted once the ledger has ended every grant, and still as confirmed if it lands before that.</>,
      <>That takes as long as the grants are valid: some ranges of {count(c.range_size, 'block')} at most.</>,
      <>The node’s log shows {asker()} as the one that asked.</>,
    ],
    body: () => ({}),
    done: () => 'The node gives it up. Its story says when that is over.',
  }
}

function draining(c: Contract): Deed {
  const again = c.drained
  return {
    title: <>{again ? 'Coordinate' : 'Coordinate no more'}: <Name of={c.address} most={24} /></>, verb: again ? 'Coordinate again' : 'Coordinate no more', may: true,
    path: `v1/contracts/${c.address}/${again ? 'undrain' : 'drain'}`,
    says: again ? [<>This node takes work of <Name of={c.address} most={24} /> again, as the ranking has it.</>] : [
      <>What this node has not dispatched, {count(sum(c.coordinating), 'piece')} of work at most, goes back to the senders, and they choose the next member of the committee{c.order[1] ? <>: <Who of={c.order[1]} among={namesOf(c)} /></> : null}. What is dispatched goes on.</>,
      <>It still owns transactions, and endorses. It stays so until it is asked to coordinate again, or starts anew.</>,
      <>The node’s log shows {asker()} as the one that asked.</>,
    ],
    body: () => ({}),
    done: () => (again ? 'The node takes work again.' : 'The node takes no more work. What is left is shown under “In flight”.'),
  }
}

/** OneTransaction is an intent and its story, as this node saw it. */
function OneTransaction({ address, id }: { address: string; id: string }) {
  const reading = useReading<Told>(`v1/contracts/${encodeURIComponent(address)}/transactions/${encodeURIComponent(id)}`, {}, ['contract'], { every: 10_000, least: 500, patience: 2500 }) // the database is asked for it
  const sight = useSight(reading)
  const listed = useReading<{ contracts: Contract[] }>('v1/contracts')
  const { value: t, refused } = reading.value
  const seen = ofDatabase(sight, reading.value.value !== null)
  const known = seen.known
  if (refused?.type?.endsWith(':not-leading') && live.value) return <Elsewhere />
  const crumb = <p class="crumb"><a href={link('contracts', { address })}>Contract <Name of={address} most={16} /></a></p>
  if (!t) return <>{crumb}<Sentence title="Transaction" database sight={seen} said={null} /></>
  const fate = fates[t.fate]
  const c = listed.value.value?.contracts.find((one) => one.address.toLowerCase() === address.toLowerCase())
  return (
    <div class={'wing' + (known ? '' : ' unsure')}>
      {crumb}
      <Before sight={seen} />
      <section class={'panel state-edge ' + (known ? fate.tone : 'unknown')} aria-label="The transaction">
        <div class="line"><h1><Name of={t.idempotency_key || t.id} most={50} /></h1><span class="right"><Mark known={known || t.fate !== 'open'} {...fate} /></span></div>
        {t.why ? <p class={'obstacle ' + (known && t.fate === 'reverted' ? 'warn' : '')}><b>{t.fate === 'open' ? 'It waits: ' : 'Why: '}</b><Drawn text={t.why} /></p> : null}
        <Facts all={[
          ['ID', <><Name of={t.id} most={20} /> <Copy text={t.id}>Copy</Copy></>],
          ['Accepted', <Instant at={t.accepted_at} dated />],
          ['Block', t.block === null ? '–' : t.block.toLocaleString('en')],
          ['Attempt that landed', t.attempt ? <Name of={t.attempt} most={24} /> : '–'],
          ['Last block of use', t.deadline ? t.deadline.toLocaleString('en') : 'any'],
        ]} />
        <pre class="request" tabIndex={0}>{JSON.stringify(t.request, null, 2).slice(0, 4000).split('\n').map(plain).join('\n')}</pre>
        {t.fate === 'open' ? <div class="buttons"><button type="button" disabled={!known || !c} onClick={() => c && ask(cancelling(c, t))}>Cancel…</button></div> : null}
      </section>
      <section class="panel" aria-label="Its story">
        <h2>Its story, as this node saw it</h2>
        <p class="small faint">Kept in memory since the node’s start. The other organisations saw their own part of it, and this node cannot know that. Times of {zone}.</p>
        {t.story.length === 0 ? <p>Nothing since the node’s start: what stands above is what is stored.</p> : null}
        <ol class="story">
          {t.story.map((m, i) => <Step key={i} m={m} before={t.story[i - 1]} first={t.accepted_at} last={i === t.story.length - 1} among={c ? namesOf(c) : []} />)}
        </ol>
      </section>
      <Asked draw={(deed, close) => <Question deed={{ ...deed, may: known }} close={close} />} />
    </div>
  )
}

function Step({ m, before, first, last, among }: { m: Moment; before: Moment | undefined; first: string; last: boolean; among: string[] }) {
  const took = Date.parse(m.at) - Date.parse(before?.at ?? first)
  return (
    <li class={last ? 'last' : ''}>
      <span class="line"><span><b>{plain(m.event)}</b> <span class="faint">→ {plain(m.state)}</span>{m.times ? <span class="faint">, {m.times} times</span> : null}</span><span class="right faint"><Instant at={m.at} />{took > 0 ? <b class="took"> +{span(took)}</b> : null}</span></span>
      <span class="small faint step">
        {m.node ? <span>with <Who of={m.node} among={among} most={20} /></span> : null}
        {m.block ? <span>block {m.block.toLocaleString('en')}</span> : null}
        {m.endorsers?.length ? <span>endorsed by {m.endorsers.map((e) => plain(e)).join(', ')}</span> : null}
        {m.attempt ? <span>attempt <Name of={m.attempt} most={16} /></span> : null}
        {m.why ? <span class="warn"><Drawn text={m.why} /></span> : null}
      </span>
    </li>
  )
}
