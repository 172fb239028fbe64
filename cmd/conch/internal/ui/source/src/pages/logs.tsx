// The logs of this node: who leads, what the members have, how far the copy here is, and whether anything signed contradicts anything else.
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { link, set, view } from '../address'
import { read, type Refusal } from '../api'
import { bad, calm, good, tell, warn } from '../model'
import { Copy } from '../parts'
import { Drawn, count, Instant, Name, plain, span, zone } from '../text'
import { Bar, Facts, Mark, type Said, Sentence, short, type Tone, Who, type Word } from './parts'
import { useReading, useSight } from './reading'

interface Member { name: string; key: string; store: number; leaving: boolean; heard_ms?: number; stored?: number }

interface Log {
  namespace: string
  state: 'opening' | 'waiting' | 'running' | 'failed'
  why?: string
  id?: string
  machine?: string
  lease_ms?: number
  self: string
  position?: { index: number; hash: string }
  first?: number
  leader?: string
  role: 'none' | 'follower' | 'member' | 'leader'
  decides: boolean
  term: number
  members: Member[]
  advice?: string
  waiting: number
  copy: { known: number; behind: number; gap_ms: number; fetching: boolean; forks: number; denied: number }
}

interface Entry { index: number; term: number; kind: string; leader: string; at: string; goal_id?: string; goal?: unknown; result?: unknown; fault?: string; members?: string[]; upto?: number }

const lateAfter = 5000 // of the next entry

const silentAfter = (l: Log) => Math.max(3 * (l.lease_ms ?? 3000), 5000)

const silent = (l: Log) => l.members.filter((m) => m.name !== l.self && m.heard_ms !== undefined && m.heard_ms > silentAfter(l))

const signs = ['bad', 'warn', 'calm', 'good']

/** standOf says how a log stands, as far as this node can know. */
function standOf(l: Log): Word {
  const quiet = silent(l).length
  if (l.state === 'failed') return bad('does not run')
  if (l.copy.forks > 0) return bad('signed heads contradict')
  if (l.copy.denied > 0) return bad('heads are denied')
  if (l.state === 'waiting') return calm('not made yet')
  if (l.state === 'opening') return calm('is opened', '◷')
  if (l.decides && !l.leader) return bad('nobody leads')
  if (l.copy.gap_ms > lateAfter) return warn('entries do not come')
  if (quiet > 0) return warn(`${count(quiet, 'member')} silent`)
  if (l.advice || l.why) return warn('needs somebody')
  if (l.copy.behind > 0) return good('catches up')
  return good(l.decides ? 'is led' : 'follows')
}

const worstFirst = (all: Log[]) => [...all].sort((a, b) => signs.indexOf(standOf(a).tone) - signs.indexOf(standOf(b).tone) || (a.namespace < b.namespace ? -1 : 1))

function saidOf(all: Log[]): Said {
  const of = (tone: Tone) => all.filter((l) => standOf(l).tone === tone)
  const named = (some: Log[]) => some.slice(0, 5).map((l) => `${plain(l.namespace)}: ${standOf(l).word}`).join('; ') + (some.length > 5 ? '; …' : '') + '.'
  const [ill, odd, idle] = [of('bad'), of('warn'), of('calm')]
  const logs = count(all.length, 'log')
  if (all.length === 0) return tell(calm, 'This node has no log', 'A [[logs]] table in its configuration gives it one, and conch log create makes it.')
  if (ill.length > 0) return tell(bad, `${ill.length} of ${logs} ${ill.length === 1 ? 'needs' : 'need'} somebody`, named([...ill, ...odd]))
  if (odd.length > 0) return tell(warn, `${odd.length} of ${logs} may need somebody`, named(odd))
  if (idle.length > 0) return tell(calm, `${idle.length} of ${logs} ${idle.length === 1 ? 'does' : 'do'} not run yet`, named(idle))
  const behind = all.reduce((n, l) => n + l.copy.behind, 0)
  const follows = all.filter((l) => !l.decides).length
  return tell(good, all.length === 1 ? (follows ? 'The one log is followed' : 'The one log is led') : follows ? `All ${logs} run` : `All ${logs} are led`,
    (behind === 0 ? 'The copies that are here have all that is known of.' : `The copies that are here lack ${count(behind, 'entry', 'entries')}, which come.`) +
    (follows > 0 ? ` This node follows ${follows === 1 ? 'one' : follows} of them, and cannot know whether somebody leads.` : ''))
}

export function Page() {
  const reading = useReading<{ logs: Log[] }>('v1/logs', {}, ['log.entry'])
  const sight = useSight(reading)
  const all = worstFirst(reading.value.value?.logs ?? [])
  const asked = view.value.query.get('log') ?? ''
  const chosen = all.find((l) => l.namespace === asked) ?? (asked ? undefined : all[0])
  return (
    <div class={'wing' + (sight.known ? '' : ' unsure')}>
      <Sentence title="Logs" sight={sight} said={reading.value.value ? saidOf(all) : null} />
      {all.length > 1 ? (
        <ul class="choices" aria-label="Logs">
          {all.map((l) => <li key={l.namespace}><a class="choice" data-row href={link('logs', { log: l.namespace })} aria-current={l === chosen ? 'true' : undefined}><Name of={l.namespace} most={24} /><Mark known={sight.known} {...standOf(l)} /></a></li>)}
        </ul>
      ) : null}
      {asked && !chosen && reading.value.value ? <p class="panel">This node has no log <Name of={asked} most={60} />. <button type="button" class="quiet" onClick={() => set({ log: '' })}>Show those that it has</button></p> : null}
      {chosen ? <One key={chosen.namespace} log={chosen} known={sight.known} /> : null}
    </div>
  )
}

function One({ log, known }: { log: Log; known: boolean }) {
  const stand = standOf(log)
  const copy = log.copy
  const names = log.members.map((m) => m.name)
  const role = { none: 'it does not run here', follower: 'follows', member: 'member', leader: 'leads' }[log.role]
  return (
    <>
      <section class={'panel state-edge ' + (known ? stand.tone : 'unknown')} aria-label="The log">
        <div class="line"><h2><Name of={log.namespace} most={60} /></h2><span class="right"><Mark known={known} {...stand} /></span></div>
        {log.why ? <p class={'obstacle' + (known ? ' bad' : '')}><b>Why: </b><Drawn text={log.why} /></p> : null}
        {log.advice ? <p class={'obstacle' + (known ? ' warn' : '')}><b>What to do: </b><Drawn text={log.advice} /> <Copy text={log.advice}>Copy</Copy></p> : null}
        <Facts all={[
          ['Leader', <span class="big">{log.leader ? <Who of={log.leader} among={names} leads most={40} /> : log.decides ? 'nobody' : 'not known'}</span>],
          ['Term', log.term || '–'],
          ['This node', <><Name of={log.self} most={24} />: {role}</>],
          ['Newest entry here', log.position ? <>{log.position.index.toLocaleString('en')} <span class="faint">of {copy.known.toLocaleString('en')} known</span></> : '–'],
          ['Behind', copy.behind === 0 ? 'nothing is missing' : <span class={known && copy.gap_ms > lateAfter ? 'warn' : ''}>{count(copy.behind, 'entry', 'entries')}{copy.gap_ms > 0 ? `, the next one for ${span(copy.gap_ms)}` : ''}{copy.fetching ? ', a snapshot is fetched' : ''}</span>],
          ['Goals that wait', log.waiting.toLocaleString('en')],
          ['Forks', copy.forks === 0 ? 'none' : <b class={known ? 'bad' : ''}>✕ {count(copy.forks, 'pair')} of signed heads that cannot both be true</b>],
          ['Denials', copy.denied === 0 ? 'none' : <b class={known ? 'bad' : ''}>✕ {count(copy.denied, 'signed head')} that the leader denies</b>],
          ['Machine, lease', <>{log.machine ? <Drawn text={log.machine} /> : '–'}{log.lease_ms ? `, ${span(log.lease_ms)}` : ''}</>],
        ]} />
      </section>
      <div class="halves">
        <Members log={log} known={known} />
        <Tail key={log.namespace} log={log} />
      </div>
    </>
  )
}

function Members({ log, known }: { log: Log; known: boolean }) {
  const stored = log.members.map((m) => m.stored ?? 0)
  const most = Math.max(...stored, 1)
  const least = Math.min(...stored.filter((s) => s > 0), most)
  const window = Math.max(most - least, 20) * 1.25 // so that the bars stand against each other, whatever the log's length
  return (
    <section class="panel" aria-label="Members">
      <h2>Members</h2>
      {log.members.length === 0 ? <p class="faint">None is known yet.</p> : null}
      <ul class="rows">
        {log.members.map((m) => {
          const behind = most - (m.stored ?? most)
          const late = m.heard_ms !== undefined && m.name !== log.self && m.heard_ms > silentAfter(log)
          return (
            <li key={m.name + m.store} class="member">
              <span class="cut"><Who of={m.name} among={log.members.map((one) => one.name)} leads={m.name === log.leader} most={26} />{m.name === log.self ? <span class="faint"> this node</span> : null}{m.leaving ? <span class="warn"> is leaving</span> : null}</span>
              <span class="measure">{m.stored ? <><Bar part={1 - behind / window} tone={!known ? 'calm' : behind > 100 ? 'warn' : 'good'} /><span class="number">{m.stored.toLocaleString('en')}{behind > 0 ? <span class="faint"> −{behind.toLocaleString('en')}</span> : null}</span></> : <span class="faint">the leader knows what it has</span>}</span>
              <span class={'right small ' + (late && known ? 'warn' : 'faint')}>{m.name === log.self ? '' : m.heard_ms === undefined ? 'members hear it' : late ? `! not heard for ${span(m.heard_ms)}` : known ? 'is heard' : 'was heard'}</span>
            </li>
          )
        })}
      </ul>
      {log.decides ? null : <p class="small faint">This node is no member: it sees neither whether they are heard nor what each has stored. Ask one of them.</p>}
    </section>
  )
}

const kept = 100

/** Tail are the newest entries that are here. */
function Tail({ log }: { log: Log }) {
  const entries = useSignal<Entry[]>([])
  const fault = useSignal('')
  const newest = log.position?.index ?? 0
  useEffect(() => {
    const last = entries.value[entries.value.length - 1]?.index ?? 0
    if (newest === 0 || newest <= last) return
    const from = Math.max(last + 1, newest - kept + 1, log.first ?? 1)
    read<{ entries: Entry[] }>(`v1/logs/${encodeURIComponent(log.namespace)}/entries`, { from, limit: kept }).then((got) => {
      const had = entries.value.filter((e) => e.index < from && e.index > newest - kept)
      entries.value = [...had, ...got.entries]
      fault.value = ''
    }, (e: Refusal) => (fault.value = e.message))
  }, [newest])
  return (
    <section class="panel" aria-label="The newest entries">
      <div class="line"><h2>The newest entries</h2><span class="faint small">by the leader’s clock, {zone}</span></div>
      {fault.value ? <p class="warn" role="alert">! They could not be read: {plain(fault.value)}</p> : null}
      {newest === 0 && !fault.value ? <p class="faint">None yet. <code>conch log goal</code> makes one.</p> : null}
      <ol class="tail" tabIndex={0} aria-label="Entries, the newest first">
        {entries.value.toReversed().map((e) => (
          <li key={e.index}>
            <span class="line"><span class="cut"><b class="number">{e.index.toLocaleString('en')}</b> {plain(e.kind)} <span class="faint">by</span> <Name of={e.leader} most={18} /> <span class="faint">term {e.term}</span></span><span class="right faint"><Instant at={e.at} /></span></span>
            <What e={e} />
          </li>
        ))}
      </ol>
    </section>
  )
}

function What({ e }: { e: Entry }) {
  const text = e.kind === 'members' ? `from then on: ${(e.members ?? []).join(', ')}` : e.kind === 'performed' ? `effects up to ${e.upto ?? '?'}` : short(e.goal)
  if (!text && !e.fault) return null
  return (
    <span class="small cut" title={plain(text).slice(0, 1000)}>
      {e.fault ? <span class="warn">! failed: <Drawn text={e.fault.slice(0, 300)} /> </span> : null}
      <Drawn text={text.slice(0, 300)} />
    </span>
  )
}
