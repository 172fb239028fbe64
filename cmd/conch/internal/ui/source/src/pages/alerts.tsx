// Alerts: what fires, who was told of it and who was not, what is silenced and why, and which rules look.
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { uuid } from '../api'
import { asker, asking, type Deed, Question } from '../dialog'
import { type Alert, type Alerts, doing, named, toneOf, type Telling } from '../firing'
import { bad, calm, good, type Said, tell, warn, type Word } from '../model'
import { serverNow, session } from '../store'
import { count, Drawn, Instant, Name, plain, span, zone } from '../text'
import { Bar, Mark, Sentence } from './parts'
import { away, coarse } from './work'
import { useDatabase } from './reading'

interface Matcher { label: string; op: string; value: string }

interface Silence { id: string; state: 'active' | 'coming' | 'ended'; matchers: Matcher[]; since: string; until: string; by: string; comment: string; alerts: number }

type Labels = Record<string, string>

/** What somebody is about to do: with an alert, or anything else. */
const { ask, Asked } = asking<Alert | Deed>()

function standOf(a: Alert): Word {
  if (a.state === 'firing') return doing(a.severity)('fires')
  return { silenced: calm('silenced', '‖'), pending: calm('may fire soon', '◷'), resolved: good('over') }[a.state]
}

const soon = 60_000

/** tellingOf is how far one receiver is. Why it was not told knows the node that evaluates, which may be another one than this. */
function tellingOf({ state, knows }: Telling, a: Alert, elsewhere: string): Word {
  if (state === 'waiting' && knows === 'nothing' && a.state === 'firing' && serverNow() - Date.parse(a.since) > soon) return warn('is not told yet' + (elsewhere && `: ${plain(elsewhere)} knows why`))
  return {
    told: good(knows === 'resolved' ? 'told that it is over' : 'told'), spared: calm('need not be told', '–'), sending: calm('is being told', '▸'),
    doubted: warn('told perhaps, and is told again', '?'), waiting: calm('is still to be told', '◷'), failing: bad('not told, and is tried again'),
  }[state]
}

function saidOf(a: Alerts): Said {
  const { firing, silenced, pending } = a.counts
  const ill = a.rules.filter((r) => r.trouble)
  const deaf = a.receivers.filter((r) => r.why)
  const e = a.evaluation
  const look = count(a.rules.length, 'rule')
  if (!e) return tell(calm, 'No rule was evaluated yet', 'One node of the cluster does, once it leads conch:alerts.')
  if (e.late) return { tone: 'unknown', sign: '?', text: 'Nobody evaluates the alerts', more: `The last evaluation was ${away(e.at)}, by ${plain(e.node)}. What stands below was so then: look on Leaders for what keeps conch:alerts from being led.` }
  const more = [
    silenced && `${silenced} silenced`, pending && `${pending} may fire soon`, ill.length && `${count(ill.length, 'rule')} could not be judged: ${named(ill)}`,
    deaf.length && `${named(deaf.map((r) => ({ rule: r.receiver })))} ${deaf.length === 1 ? 'does' : 'do'} not take what ${deaf.length === 1 ? 'it is' : 'they are'} told`,
    a.receivers.length === 0 && 'nobody is told of what fires, since there is no [[notify]]',
  ].filter(Boolean).join('; ')
  const looks = `${look} look${a.rules.length === 1 ? 's' : ''}`
  const by = `${plain(e.node)} evaluates ${a.rules.length === 1 ? 'it' : 'them'} each ${span(e.interval_ms)}.`
  const rest = `${more ? more[0]!.toUpperCase() + more.slice(1) + '. ' : ''}${looks}: ${by}`
  if (firing) return tell(toneOf(a), `${count(firing, 'alert')} ${firing === 1 ? 'fires' : 'fire'}: ${named(a.alerts.filter((x) => x.state === 'firing'))}`, rest)
  if (deaf.length) return tell(warn, 'Nothing fires, and not everybody can be told', rest)
  if (ill.length) return tell(warn, `Nothing fires, as far as ${a.rules.length - ill.length} of ${look} can tell`, rest)
  if (silenced) return tell(calm, 'What fires is silenced', rest, '‖')
  return tell(good, `All is well: ${looks}, and nothing fires`, more ? rest : by)
}

const Those = ({ all }: { all: Matcher[] }) => <>{all.map((m) => <code key={m.label + m.op}><Drawn text={`${m.label}${m.op}"${m.value}"`} /> </code>)}</>

const matching = (labels: Labels): Matcher[] => Object.entries(labels).map(([label, value]) => ({ label, op: '=', value }))

const Pairs = ({ of }: { of: Labels }) => <Those all={matching(of)} />

const none = tell(calm, 'This node has no alerts', 'A node whose configuration has [database] url and [alerting] cluster evaluates them.')

export function Page() {
  const { reading, sight } = useDatabase<Alerts>('v1/alerts', {}, ['alert'])
  const quiet = useDatabase<{ silences: Silence[] }>('v1/silences', {}, ['alert'])
  const a = reading.value
  const known = sight.known && !a?.evaluation?.late
  const gone = reading.refused?.status === 404
  const by = a?.evaluation?.node ?? ''
  const elsewhere = by === session.value?.node ? '' : by
  const silences = quiet.reading.value?.silences ?? []
  const now = a?.alerts.filter((x) => x.state !== 'resolved') ?? []
  const left = a ? a.counts.firing + a.counts.silenced + a.counts.pending - now.length : 0
  return (
    <div class={'work' + (known ? '' : ' unsure')}>
      <Sentence title="Alerts" sight={gone ? { ...sight, known: true } : sight} said={gone ? none : a && saidOf(a)} database />
      {now.length > 0 ? <ul class="stack" aria-label="Alerts, the urgent first">{now.map((x) => <One key={x.key} a={x} known={known} may={sight.known} elsewhere={elsewhere} silence={silences.find((s) => s.id === x.silence)} />)}</ul> : null}
      {left > 0 ? <p class="faint">And {left.toLocaleString('en')} more.</p> : null}
      {a ? (
        <>
          {a.rules.filter((r) => r.trouble).map((r) => (
            <p key={r.rule} class={'obstacle' + (known ? ' warn' : '')}>! <Name of={r.rule} /> could not be judged since <Instant at={r.trouble!.since} dated />: {r.trouble!.no_data ? 'its condition selects nothing, or the samples do not reach back far enough' : <Drawn text={r.trouble!.why ?? ''} />}. What fires of it goes on.</p>
          ))}
          <div class="halves"><Receivers all={a.receivers} known={known} may={sight.known} /><Silences all={silences} may={quiet.sight.known} /></div>
          <Over all={a.alerts.filter((x) => x.state === 'resolved')} known={known} />
          <details class="panel">
            <summary>{count(a.rules.length, 'rule')}</summary>
            <ul class="times">{a.rules.map((r) => <li key={r.rule}><span class="line"><Name of={r.rule} most={40} /><span class="faint">{plain(r.severity)}, for {r.for}</span></span><code class="small"><Drawn text={r.condition} /></code></li>)}</ul>
          </details>
          <p class="faint small">Times of {zone}.</p>
        </>
      ) : null}
      <Asked draw={(it, close) => ('key' in it ? <Silencing a={it} may={sight.known} close={close} /> : <Question deed={{ ...it, may: sight.known }} close={close} />)} />
    </div>
  )
}

function Receivers({ all, known, may }: { all: Alerts['receivers']; known: boolean; may: boolean }) {
  return (
    <section class="panel"><h2>Receivers</h2>
      {all.length === 0 ? <p class="faint">Nobody is told. A [[notify]] table in the configuration names a receiver.</p> : (
        <ul class="times">{all.map((r) => (
          <li key={r.receiver}>
            <span class="line"><span><Name of={r.receiver} /> <span class="faint">{r.kind}</span></span><button type="button" disabled={!may} onClick={() => ask(tests(r.receiver))}>Test…</button></span>
            <span class="small faint">{r.kind === 'heartbeat' ? 'called while alerts are evaluated' : r.told_at ? <>told last <Instant at={r.told_at} dated /></> : 'was told nothing yet'}{r.waiting ? `, ${r.waiting} still to be told` : ''}</span>
            {r.why ? <p class={'small' + (known ? ' bad' : '')}>✕ <Drawn text={r.why} /></p> : null}
          </li>
        ))}</ul>
      )}
    </section>
  )
}

const mostEnded = 10

function Silences({ all, may }: { all: Silence[]; may: boolean }) {
  return (
    <section class="panel"><h2>Silences</h2>
      {all.length === 0 ? <p class="faint">{may ? 'There is none.' : 'Not known.'}</p> : (
        <ul class="times">{all.filter((s, i) => s.state !== 'ended' || i < mostEnded).map((s) => (
          <li key={s.id}>
            <span class="line"><span><Those all={s.matchers} /></span>{s.state === 'ended' ? <span class="faint">over</span> : <button type="button" disabled={!may} onClick={() => ask(ends(s))}>End…</button>}</span>
            <span class="small faint">{s.state === 'coming' ? <>from <Instant at={s.since} dated /> </> : ''}until <Instant at={s.until} dated />, by <Name of={s.by} />{s.alerts ? `, of ${count(s.alerts, 'alert')} now` : ''}: <Drawn text={s.comment} /></span>
          </li>
        ))}</ul>
      )}
    </section>
  )
}

function Over({ all, known }: { all: Alert[]; known: boolean }) {
  if (all.length === 0) return null
  return (
    <section class="panel"><h2>Over</h2>
      <ol class="times">{all.map((a) => (
        <li key={a.key}>
          <span class="line"><span><Mark known={known} {...standOf(a)} /> <Name of={a.rule} most={40} /> <span class="faint"><Drawn text={a.summary} /></span></span><span class="faint right"><Instant at={a.since} dated />, for {span(Date.parse(a.until!) - Date.parse(a.since))}</span></span>
          <Tellings of={a} known={known} elsewhere="" />
        </li>
      ))}</ol>
    </section>
  )
}

function One({ a, known, may, elsewhere, silence }: { a: Alert; known: boolean; may: boolean; elsewhere: string; silence?: Silence }) {
  const many = a.members.length + a.others
  const [from, to] = [Date.parse(a.since), Date.parse(a.fires_at ?? a.since)]
  return (
    <li class={'panel state-of ' + (known ? standOf(a).tone : 'unknown')}>
      <div class="line title"><h2 data-row tabIndex={-1}><Name of={a.rule} most={40} /></h2><span class="right"><Mark known={known} {...standOf(a)} /></span></div>
      <p><Drawn text={a.summary} /></p>
      {a.description ? <p class="small faint"><Drawn text={a.description} /></p> : null}
      <p class="small"><Drawn text={a.severity} /> <Pairs of={(many === 1 && a.members[0]?.labels) || a.labels} /><span class="faint">since <Instant at={a.since} dated />{known ? `, for ${coarse(serverNow() - from)}` : ''}{a.fires_at ? <>; fires <Instant at={a.fires_at} dated /> if it goes on</> : ''}</span></p>
      {a.silence ? <p class="small">‖ Nobody is told{silence ? <> until <Instant at={silence.until} dated />, by <Name of={silence.by} />: <Drawn text={silence.comment} /></> : null}</p> : null}
      {many > 1 ? (
        <details><summary>{count(many, 'member')}</summary>
          <ul class="times small">{a.members.map((m) => <li key={JSON.stringify(m.labels)}><Pairs of={m.labels} /><span class="faint">{plain(m.value)}, {m.state}, since <Instant at={m.since} dated /></span></li>)}{a.others ? <li class="faint">and {a.others.toLocaleString('en')} more</li> : null}</ul>
        </details>
      ) : null}
      <div class="line foot">{a.state === 'pending' ? <Bar part={known ? (serverNow() - from) / (to - from) : 0} tone={known ? 'warn' : 'calm'} /> : <Tellings of={a} known={known} elsewhere={elsewhere} />}{a.state === 'silenced' ? null : <button type="button" disabled={!may} onClick={() => ask(a)}>Silence…</button>}</div>
    </li>
  )
}

const Tellings = ({ of, known, elsewhere }: { of: Alert; known: boolean; elsewhere: string }) => (
  <p class="small legend">{of.tellings.length === 0 ? <span class="faint">Nobody is told of it: it is here alone.</span> : of.tellings.map((t) => {
    const { tone, sign, word } = tellingOf(t, of, elsewhere)
    return <span key={t.receiver}><b class={known ? tone : ''}><span aria-hidden="true">{sign}</span> <Name of={t.receiver} /></b> <span>{word}{t.at ? <> <Instant at={t.at} dated /></> : null}{t.why ? <>: <Drawn text={t.why} /></> : null}</span></span>
  })}</p>
)

/** shared are the labels that all members have, as far as they are told. */
const shared = (a: Alert): Labels => (a.others || a.members.length === 0 ? a.labels : Object.fromEntries(Object.entries(a.members[0]!.labels).filter(([name, value]) => a.members.every((m) => m.labels[name] === value))))

function Silencing({ a, may, close }: { a: Alert; may: boolean; close: () => void }) {
  const id = useRef(uuid())
  const [lasts, why, wide] = [useSignal('2h'), useSignal(''), useSignal<string[]>([])]
  const labels = shared(a)
  const matchers = matching({ alertname: a.rule, ...labels }).filter(({ label }) => !wide.value.includes(label))
  const turn = (label: string) => (wide.value = wide.value.includes(label) ? wide.value.filter((l) => l !== label) : [...wide.value, label])
  return (
    <Question close={close} deed={{
      title: <>Silence <Name of={a.rule} /></>, verb: 'Silence it', path: 'v1/silences', may,
      body: () => (why.value.trim() ? { id: id.current, matchers, for: lasts.value, comment: why.value.trim() } : 'Say why, for those who find it silenced.'),
      says: [
        <>Nobody is told that something fires which has <Those all={matchers} /></>,
        'It fires on, and stands here as silenced. That it is over is told to whom its beginning was.',
        'When the silence ends, what still fires is told at once.', <>It names {asker()} as the one that asked.</>,
      ],
      fields: <>
        {Object.keys(labels).length > 0 ? <p class="tools">Only with {Object.entries(labels).map(([label, value]) => <button key={label} type="button" class="chip" aria-pressed={!wide.value.includes(label)} onClick={() => turn(label)}><Name of={`${label}="${value}"`} /></button>)}</p> : null}
        <label>For <select value={lasts.value} onChange={(e) => (lasts.value = e.currentTarget.value)}>{Object.entries({ '30m': '30 minutes', '2h': '2 hours', '8h': '8 hours', '24h': 'a day', '168h': 'a week' }).map(([of, text]) => <option key={of} value={of}>{text}</option>)}</select></label>
        <label>Why <input value={why.value} maxLength={1000} autocomplete="off" onInput={(e) => (why.value = e.currentTarget.value)} /></label>
      </>,
      done: (got) => <>It is silenced until <Instant at={String(got.until)} dated />.</>,
    }} />
  )
}

const ends = (s: Silence): Deed => ({
  title: 'End the silence', verb: 'End it', path: `v1/silences/${encodeURIComponent(s.id)}/end`, body: () => ({}), may: true,
  says: [<>It is of <Those all={s.matchers} />, by <Name of={s.by} />: <Drawn text={s.comment} />.</>, s.alerts ? `What of ${count(s.alerts, 'alert')} still fires is told at once.` : 'It keeps nothing from being told now.'],
  done: () => 'It has ended.',
})

const tests = (receiver: string): Deed => ({
  title: <>Test <Name of={receiver} /></>, verb: 'Tell it', path: 'v1/receiver/test', body: () => ({ receiver }), may: true, patience: 30_000,
  says: ['This node tells it that this is a test, and that nothing is wrong. Somebody may be woken.', 'It touches no alert: an incident that it opens is closed at once.'],
  done: (got) => {
    if (got.answer === 'taken') return 'It has taken the test.'
    throw new Error(`${{ refused: 'It refuses it', failed: 'It has not got it' }[String(got.answer)] ?? 'Nobody knows whether it has it'}: ${String(got.why ?? 'no reason was given')}`)
  },
})
