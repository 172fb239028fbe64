// Nodes: every process that campaigns, what a doctor finds from the node that served this page, and the configuration that is in force there.
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { link, set, view } from '../address'
import { read, type Refusal } from '../api'
import { ago } from '../leaders'
import { bad, calm, good, tell, warn } from '../model'
import { Copy, Holder, since, useNarrow } from '../parts'
import { live, session } from '../store'
import { count, Drawn, Instant, Name, plain, span } from '../text'
import { Mark, type Said, Sentence, type Word } from './parts'
import { useDatabase } from './reading'

interface Process {
  id: string
  alive: boolean
  tombstoned: boolean
  here: boolean
  version: string
  address: string
  settings: string
  started: string
  last_seen: string
  seen_age_ms: number
  scopes: number
  leads: number
  lease_ms: number
  takeover: string
  locks: string
  lines_lost: number
}

interface Finding { check: string; status: 'ok' | 'warn' | 'fail'; detail: string; remedy: string }

const standOf = (p: Process): Word =>
  p.tombstoned ? calm('declared dead', '✕') : p.alive ? good('campaigns') : calm('has gone', '–')

/** commonest is the configuration that most live processes have; empty if there is none. */
function commonest(all: Process[]): string {
  const many = new Map<string, number>()
  for (const p of all) if (p.alive && p.settings) many.set(p.settings, (many.get(p.settings) ?? 0) + 1)
  const [first, second] = [...many].sort(([, x], [, y]) => y - x)
  return first && first[1] !== second?.[1] ? first[0] : ''
}

const differs = (p: Process, most: string) => p.alive && p.settings !== '' && p.settings !== most

const names = (some: Process[]) => [...new Set(some.map((p) => plain(p.id)))].slice(0, 4).join(', ') + (new Set(some.map((p) => p.id)).size > 4 ? ', …' : '')

function saidOf(all: Process[]): Said {
  const alive = all.filter((p) => p.alive && !p.tombstoned)
  const nodes = new Set(alive.map((p) => p.id)).size
  const versions = new Set(alive.map((p) => p.version).filter(Boolean)).size
  const most = commonest(alive)
  const other = alive.filter((p) => differs(p, most))
  const lost = alive.filter((p) => p.lines_lost > 0)
  const run = `${count(nodes, 'node')} ${nodes === 1 ? 'campaigns' : 'campaign'}`
  const more = [versions > 1 ? `They run ${versions} versions.` : versions === 1 ? `${nodes === 1 ? 'It runs' : 'All run'} ${plain(alive.find((p) => p.version)!.version)}.` : '', lost.length > 0 ? `Lines of the log of ${names(lost)} are missing: look at what reads its stderr.` : ''].filter(Boolean).join(' ')
  if (alive.length === 0) return tell(calm, 'Nobody campaigns', 'A node with a role does: conch node.' + (all.length > 0 ? ' Processes that were here within a day stand below.' : ''))
  if (other.length > 0) return tell(warn, `${run}, with more than one configuration`,
    (most ? `${names(other)} ${new Set(other.map((p) => p.id)).size === 1 ? 'has' : 'have'} other roles, terms, channel or locks than most` : 'Their roles, terms, channel or locks differ') + `: compare their files, or what stands below on the pages that they serve. ${more}`)
  if (lost.length > 0) return tell(warn, `${run}, and a log has lost lines`, more)
  return tell(good, nodes === 1 ? run : `${run}, with one configuration`, more)
}

export function Page() {
  const { reading, sight } = useDatabase<{ processes: Process[] }>('v1/processes')
  const all = reading.value?.processes ?? []
  return (
    <div class={'work' + (sight.known ? '' : ' unsure')}>
      <Sentence title="Nodes" sight={sight} said={reading.value ? saidOf(all) : null} database />
      {all.length > 0 ? <Processes all={all} known={sight.known} /> : null}
      {session.value?.parts?.includes('doctor') ? <><Doctor /><Configuration /></> : null}
    </div>
  )
}

function Processes({ all, known }: { all: Process[]; known: boolean }) {
  const narrow = useNarrow(1200)
  const present = all.filter((p) => p.alive && !p.tombstoned)
  const gone = all.filter((p) => !p.alive || p.tombstoned)
  const most = commonest(all)
  const draw = (some: Process[], label: string) => (narrow ? <Cards all={some} most={most} known={known} label={label} /> : <Table all={some} most={most} known={known} label={label} />)
  return (
    <>
      {present.length > 0 ? draw(present, 'Processes') : null}
      {gone.length > 0 ? (
        <details class="panel">
          <summary>{count(gone.length, 'process', 'processes')} {gone.length === 1 ? 'has' : 'have'} gone within a day</summary>
          {draw(gone, 'Processes that have gone')}
        </details>
      ) : null}
    </>
  )
}

const Settings = ({ p, most, known }: { p: Process; most: string; known: boolean }) =>
  !p.settings ? <span class="faint">{p.version ? 'its program’s own' : 'not told'}</span> : differs(p, most) ? <b class={known ? 'warn' : ''}>! <code><Drawn text={p.settings} /></code> differs</b> : <code><Drawn text={p.settings} /></code>

/** Where it serves. What tells its version, and neither this nor a configuration, is a program with the library. */
const Where = ({ p }: { p: Process }) => (p.address ? <Name of={p.address} most={26} /> : <span class="faint">{p.version ? 'serves nothing' : 'not told'}</span>)

const Lost = ({ p, known }: { p: Process; known: boolean }) => (p.lines_lost > 0 ? <b class={known ? 'warn' : ''}>! {p.lines_lost.toLocaleString('en')} at least</b> : <span class="faint">none</span>)

const Seen = ({ p, known }: { p: Process; known: boolean }) =>
  known && p.alive && p.seen_age_ms < 60_000 ? <span class="faint">within a minute</span> : <Instant at={p.last_seen} dated />

const Who = ({ p, most }: { p: Process; most: number }) => <><Holder of={p.id} leads={p.leads > 0} most={most} />{p.here ? <span class="faint small"> this node</span> : null}</>

function Table({ all, most, known, label }: { all: Process[]; most: string; known: boolean; label: string }) {
  return (
    <div class="panel scrolls" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead><tr><th>Node</th><th>State</th><th class="number">Leads</th><th>Version</th><th>Started</th><th>Seen</th><th>Lease, locks</th><th>Configuration</th><th>Lost of its log</th><th>Address</th></tr></thead>
        <tbody>{all.map((p) => (
          <tr key={p.id + p.started}>
            <td><Who p={p} most={22} /></td>
            <td><Mark known={known} {...standOf(p)} /></td>
            <td class="number">{known ? `${p.leads.toLocaleString('en')} of ${p.scopes.toLocaleString('en')}` : '?'}</td>
            <td><Name of={p.version || 'not told'} most={20} /></td>
            <td><Instant at={p.started} dated /></td>
            <td><Seen p={p} known={known} /></td>
            <td>{span(p.lease_ms)}, {plain(p.locks)}{p.takeover === 'strict' ? '' : `, takeover ${plain(p.takeover)}`}</td>
            <td><Settings p={p} most={most} known={known} /></td>
            <td><Lost p={p} known={known} /></td>
            <td><Where p={p} /></td>
          </tr>
        ))}</tbody>
      </table>
    </div>
  )
}

function Cards({ all, most, known, label }: { all: Process[]; most: string; known: boolean; label: string }) {
  return (
    <ul class="cards" aria-label={label}>
      {all.map((p) => (
        <li key={p.id + p.started} class={'card ' + (!known ? 'unknown' : differs(p, most) || p.lines_lost > 0 ? 'warn' : standOf(p).tone)}>
          <div class="line"><h2><Who p={p} most={20} /></h2><Mark known={known} {...standOf(p)} /></div>
          <dl class="pairs">
            <div><dt>Leads</dt><dd>{known ? `${p.leads.toLocaleString('en')} of ${count(p.scopes, 'scope')}` : '?'}</dd></div>
            <div><dt>Version</dt><dd><Name of={p.version || 'not told'} most={24} /></dd></div>
            <div><dt>Started</dt><dd><Instant at={p.started} dated /></dd></div>
            <div><dt>Seen</dt><dd><Seen p={p} known={known} /></dd></div>
            <div><dt>Lease, locks</dt><dd>{span(p.lease_ms)}, {plain(p.locks)}{p.takeover === 'strict' ? '' : `, takeover ${plain(p.takeover)}`}</dd></div>
            <div><dt>Configuration</dt><dd><Settings p={p} most={most} known={known} /></dd></div>
            <div><dt>Lost of its log</dt><dd><Lost p={p} known={known} /></dd></div>
            <div><dt>Address</dt><dd><Where p={p} /></dd></div>
          </dl>
        </li>
      ))}
    </ul>
  )
}

const grades: Record<Finding['status'], Word> = {
  fail: bad('fails'),
  warn: warn('warns'),
  ok: good('is well'),
}

const examPatience = 30_000

/** Doctor examines when the page is opened, and again when somebody asks for it: it connects to all that the node needs. */
function Doctor() {
  const is = useSignal<{ findings: Finding[]; as_of: string; at: number } | null>(null)
  const busy = useSignal(false)
  const fault = useSignal('')
  const look = async () => {
    if (busy.value) return
    busy.value = true
    try {
      const got = await read<{ findings: Finding[]; as_of: string }>('v1/doctor', {}, examPatience)
      is.value = { ...got, at: performance.now() }
      fault.value = ''
    } catch (e) {
      fault.value = (e as Refusal).message
    }
    busy.value = false
  }
  useEffect(() => {
    if (live.value && !is.value) void look()
  }, [live.value])
  const known = live.value && fault.value === '' && is.value !== null
  const all = is.value?.findings ?? []
  const of = (s: Finding['status']) => all.filter((f) => f.status === s)
  const [fail, warn, ok] = [of('fail'), of('warn'), of('ok')]
  const ill = [...fail, ...warn]
  const text = all.length === 0 ? 'Nothing was checked' : ill.length === 0 ? (ok.length === 1 ? 'The one check is well' : `All ${ok.length} checks are well`) : [fail.length > 0 && `${count(fail.length, 'check')} ${fail.length === 1 ? 'fails' : 'fail'}`, warn.length > 0 && `${fail.length > 0 ? warn.length : count(warn.length, 'check')} ${warn.length === 1 ? 'warns' : 'warn'}`].filter(Boolean).join(', ') + `, ${ok.length} ${ok.length === 1 ? 'is' : 'are'} well`
  return (
    <section class="panel doctor" aria-labelledby="doctor">
      <div class="line">
        <h2 id="doctor">Doctor of <Name of={session.value?.node ?? 'this node'} most={24} /></h2>
        <span class="right"><button type="button" disabled={!live.value || busy.value} onClick={() => void look()}>{busy.value ? 'Examining…' : 'Examine again'}</button></span>
      </div>
      {is.value === null ? <p class="faint">{fault.value ? `It could not be examined: ${fault.value}` : live.value ? 'It connects to all that the node needs, which may take some seconds…' : 'It examines once the database answers.'}</p> : (
        <>
          <p>{known ? <b class={fail.length > 0 ? 'bad' : warn.length > 0 ? 'warn' : ok.length > 0 ? 'good' : 'faint'}>{fail.length > 0 ? '✕' : warn.length > 0 ? '!' : ok.length > 0 ? '✓' : '○'} {text}</b> : <b class="warn">? {fault.value || 'not known now: this was found before'}</b>} <span class="faint small">examined {known ? ago(is.value.as_of) : <>{since(is.value.at)} ago</>}</span></p>
          {ill.length > 0 ? (
            <ul class="findings">{ill.map((f, i) => (
              <li key={f.check + i}>
                <span class="line"><b><Drawn text={f.check} /></b><Mark known={known} {...grades[f.status]} /></span>
                <p><Drawn text={f.detail} /></p>
                {f.remedy ? <p class="remedy"><b>What to do: </b><Drawn text={f.remedy} /> <Copy text={f.remedy}>Copy</Copy></p> : null}
              </li>
            ))}</ul>
          ) : null}
          {ok.length === 0 ? null : <details>
            <summary>{count(ok.length, 'check')} that {ok.length === 1 ? 'finds' : 'find'} nothing</summary>
            <ul class="findings small">{ok.map((f, i) => <li key={f.check + i}><span class="line"><span class="cut"><span aria-hidden="true">{known ? '✓ ' : ''}</span><Drawn text={f.check} /></span></span><p class="faint"><Drawn text={f.detail} /></p></li>)}</ul>
          </details>}
        </>
      )}
    </section>
  )
}

interface Key { key: string; value: string; from: string }

/** Configuration is what the node that served this page has in force. It changes when that reads its file again. */
function Configuration() {
  const is = useSignal<{ settings: string; keys: Key[] } | null>(null)
  const fault = useSignal('')
  const q = view.value.query.get('q') ?? ''
  useEffect(() => {
    if (!live.value) return
    let over = false
    const look = () => void read<{ settings: string; keys: Key[] }>('v1/config').then((got) => {
      if (over) return
      is.value = got
      fault.value = ''
    }, (e: Refusal) => (fault.value = e.message))
    look()
    const timer = setInterval(() => { if (!document.hidden) look() }, 10_000)
    return () => {
      over = true
      clearInterval(timer)
    }
  }, [live.value])
  const needle = q.toLowerCase()
  const all = is.value?.keys ?? []
  const some = all.filter((k) => !needle || [k.key, k.value, k.from].some((t) => t.toLowerCase().includes(needle)))
  return (
    <section class="panel config" aria-labelledby="config">
      <div class="line"><h2 id="config">Configuration of <Name of={session.value?.node ?? 'this node'} most={24} /></h2>{is.value ? <span class="faint right">hash <code>{is.value.settings}</code></span> : null}</div>
      {fault.value ? <p class="warn" role="alert">! It could not be read: {fault.value}</p> : is.value === null ? <p class="faint">{live.value ? 'Asking the node…' : 'It is read once the node answers.'}</p> : null}
      {all.length > 0 ? (
        <>
          <div class="tools"><input type="search" id="filter" placeholder="Key, value or origin" aria-label="Filter the configuration" value={q} onInput={(e) => set({ q: e.currentTarget.value })} /><span class="faint">{some.length} of {all.length}; secrets and their places are not among them</span></div>
          {some.length === 0 ? <p class="faint">No key is like that. <button type="button" class="quiet" onClick={() => set({ q: '' })}>Show all</button></p> : (
            <dl class="keys-of">{some.map((k) => (
              <div key={k.key}>
                <dt><Drawn text={k.key} /></dt>
                <dd>{k.value === '' ? <span class="faint">follows from others, or nothing</span> : k.key.endsWith('.scope') ? <a href={link('leaders/s', { scope: k.value })}><Drawn text={k.value} /></a> : <Drawn text={k.value} />}</dd>
                <dd class={k.from === 'default' ? 'faint' : ''}><Drawn text={k.from} /></dd>
              </div>
            ))}</dl>
          )}
        </>
      ) : null}
    </section>
  )
}
