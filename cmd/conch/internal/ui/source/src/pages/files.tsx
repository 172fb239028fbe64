// The files that every node holds: which version each node has, against the leader's, and what they are.
import { signal } from '@preact/signals'
import { link, set, view } from '../address'
import { read, type Refusal, urlOf } from '../api'
import { calm, good, tell, warn } from '../model'
import { Copy, useNarrow, Virtual } from '../parts'
import { live, now, rows, serverNow, session } from '../store'
import { count, Drawn, Instant, Name, span, zone } from '../text'
import { Before, Facts, Mark, type Said, Sentence, Who } from './parts'
import { useReading, useSight } from './reading'

interface Version { epoch: number; seq: number }

interface Shelf { scope: string; version: Version; leading: boolean; holder: string; as_of: string; files: number; bytes: number; peers?: Record<string, Version> }

interface Shelves { as_of: string; scopes: Shelf[] }

interface Catalog { scope: string; version: Version; leading: boolean; holder: string; as_of: string; found: number; files: { name: string; size: number }[]; next: string | null }

const pace = { every: 5000, least: 1000, patience: 4000 }
const part = 500

const versionOf = (v: Version) => `${v.epoch}.${v.seq}`

/** behindOf are those that lack something of the leader's version. */
const behindOf = (s: Shelf) => Object.entries(s.peers ?? {}).filter(([, v]) => versionOf(v) !== versionOf(s.version)).map(([name]) => name).sort()

/** sizeOf writes a number of bytes in three digits. */
export function sizeOf(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let at = 0
  let n = bytes
  for (; n >= 999.5 && at < units.length - 1; at++) n /= 1000
  return `${at === 0 ? n : n.toPrecision(3).replace(/\.?0+$/, '')}\u00a0${units[at]}`
}

function verdictOf(all: Shelf[]): Said {
  if (all.length === 0) return tell(calm, 'This node has no files', 'A [[files]] table in conch.toml names a scope and a folder: what its leader takes, every node holds.')
  const behind = all.filter((s) => behindOf(s).length > 0)
  const leads = all.filter((s) => s.leading)
  const files = all.reduce((n, s) => n + s.files, 0)
  const more = `${count(files, 'file')}, ${sizeOf(all.reduce((n, s) => n + s.bytes, 0))} on this node.`
  if (behind.length > 0) return tell(warn, `${behind.length === 1 ? 'A node lacks some of the files of one scope' : `Nodes lack some of the files of ${behind.length} scopes`}`, more)
  if (leads.length === 0) return tell(calm, `This node follows in ${count(all.length, 'scope')}`, more + ' What the others hold is known to the node that leads.')
  return tell(good, leads.length === all.length ? 'Every node holds all files' : `Every node holds all files of the ${leads.length === 1 ? 'one scope' : count(leads.length, 'scope')} that this node leads`, more)
}

export function Page() {
  return view.value.path === 'files/s' ? <OneScope key={view.value.query.get('scope')} scope={view.value.query.get('scope') ?? ''} /> : <Files />
}

function Files() {
  void now.value
  const of = useReading<Shelves>('v1/files', {}, [], pace)
  const sight = useSight(of)
  const { value, refused } = of.value
  if (refused?.status === 404) return <section class="panel"><h1>Files</h1><p class="faint">This node serves no files.</p></section>
  return (
    <>
      <Sentence title="Files" sight={sight} said={value ? verdictOf(value.scopes) : null} />
      {value?.scopes.map((s) => <ShelfPanel key={s.scope} s={s} known={sight.known} />)}
      {value?.scopes.length === 0 ? <pre class="panel" tabIndex={0} role="region" aria-label="A table of files"><code>{'[[files]]\nscope = "reports"\ndir = "/var/lib/conch/reports"\npeers = { node-1 = "its URL", node-2 = "its URL" }'}</code></pre> : null}
    </>
  )
}

/** leaderOf is who leads a scope: as the rows have it, or else as the files last heard. */
function leaderOf(s: { scope: string; holder: string; leading: boolean }): string {
  const row = live.value ? rows.value.find((r) => r.scope === s.scope) : undefined
  if (row) return row.state === 'nobody' || row.state === 'released' ? '' : row.holder
  return s.leading ? session.value?.node ?? '' : s.holder
}

/** followed says how old a follower’s version may be. */
const followed = (s: { as_of: string }) => {
  const ms = serverNow() - Date.parse(s.as_of)
  return ms < 15_000 ? 'the leader’s, as was just heard' : `the leader’s ${span(ms)} ago`
}

function ShelfPanel({ s, known }: { s: Shelf; known: boolean }) {
  const me = session.value?.node ?? 'this node'
  const leader = leaderOf(s)
  const behind = behindOf(s)
  const others = Object.entries(s.peers ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
  const tone = !known ? 'unknown' : behind.length > 0 ? 'warn' : s.leading ? 'good' : 'calm'
  const copies: [string, Version, 'leads' | 'same' | 'behind' | 'follows'][] = [
    [me, s.version, s.leading ? 'leads' : 'follows'], ...others.map(([name, v]): [string, Version, 'same' | 'behind'] => [name, v, behind.includes(name) ? 'behind' : 'same']),
  ]
  return (
    <section class={'panel one ' + tone}>
      <div class="line"><h2><a href={link('files/s', { scope: s.scope })} data-row><Name of={s.scope} most={48} /></a></h2>
        <Mark known={known} tone={tone} sign={behind.length > 0 ? '!' : s.leading ? '✓' : '○'} word={behind.length > 0 ? `${count(behind.length, 'node')} behind` : s.leading ? 'all nodes hold all' : 'this node follows'} /></div>
      <Facts all={[
        ['Leader', leader ? <Who of={leader} leads most={30} /> : <span class="bad">✕ nobody: nothing can be written</span>],
        ['Version', <>{versionOf(s.version)}{s.leading ? null : <span class="faint">, {followed(s)}</span>}</>],
        ['Holds', `${count(s.files, 'file')}, ${sizeOf(s.bytes)}`],
      ]} />
      <div class="scrolls" tabIndex={0} role="region" aria-label="Copies by node">
        <table>
          <thead><tr><th>Node</th><th class="number">Version</th><th>Against the leader’s</th></tr></thead>
          <tbody>{copies.map(([name, v, is]) => (
            <tr key={name}>
              <td><Who of={name} leads={is === 'leads'} most={30} /></td>
              <td class="number">{versionOf(v)}</td>
              <td>{!known ? <span class="warn">? not known now</span> : is === 'behind' ? <span class="warn">! lacks some of {versionOf(s.version)}: what is missing is pushed until it is there</span>
                : is === 'same' ? <span class="good">✓ has all of it</span> : is === 'leads' ? <span class="good">✓ it is the leader’s</span> : <span class="faint">○ {followed(s)}</span>}</td>
            </tr>
          ))}</tbody>
        </table>
      </div>
      {s.leading ? null : <p class="faint small">What other nodes hold is known to the leader{leader ? <>: open the page of <Name of={leader} /></> : null}.</p>}
    </section>
  )
}

/** more are the files after those that are read again and again. */
const more = signal<{ of: string; files: Catalog['files']; next: string | null; busy: boolean; fault: string }>({ of: '', files: [], next: null, busy: false, fault: '' })

async function readMore(of: string, query: Record<string, string>, after: string): Promise<void> {
  const have = more.value.of === of ? more.value.files : []
  more.value = { of, files: have, next: after, busy: true, fault: '' }
  try {
    const got = await read<Catalog>('v1/catalog', { ...query, after, limit: part })
    if (more.value.of === of) more.value = { of, files: [...have, ...got.files], next: got.next, busy: false, fault: '' }
  } catch (e) {
    if (more.value.of === of) more.value = { ...more.value, busy: false, fault: (e as Refusal).message }
  }
}

function OneScope({ scope }: { scope: string }) {
  void now.value
  const narrow = useNarrow()
  const q = view.value.query.get('q') ?? ''
  const of = useReading<Catalog>('v1/catalog', { scope, q, limit: part }, [], pace)
  const sight = useSight(of)
  const { value: c, refused } = of.value
  // What was read after them is of one version: another one begins anew.
  const id = JSON.stringify([scope, q, c ? versionOf(c.version) : ''])
  const rest = more.value.of === id ? more.value : null
  const next = rest ? rest.next : c?.next
  const crumb = <p class="crumb"><a href={link('files')}>Files</a></p>
  if (!c) {
    return (
      <>
        {crumb}
        {refused?.status === 404 ? <section class="panel"><h1><Name of={scope} most={48} /></h1><p>This node has no files of this scope. Its [[files]] tables name those that it has.</p></section>
          : <Sentence title="Files" sight={sight} said={null} />}
      </>
    )
  }
  const leader = leaderOf(c)
  const files = [...c.files, ...(rest?.files ?? [])]
  return (
    <>
      {crumb}
      <section class={'panel one ' + (sight.known ? (leader ? 'good' : 'bad') : 'unknown')}>
        <div class="line"><h1><Name of={c.scope} most={48} /></h1><span class="right"><Mark known={sight.known} tone={leader ? 'good' : 'bad'} sign={leader ? '✓' : '✕'} word={leader ? 'can be written' : 'nobody leads'} /></span></div>
        <Before sight={sight} />
        <Facts all={[
          ['Leader', leader ? <Who of={leader} leads most={30} /> : 'nobody'],
          ['Version', <>{versionOf(c.version)}{c.leading ? null : <span class="faint">, {followed(c)}</span>}</>],
          ['Known to be the leader’s', <><Instant at={c.as_of} dated /> <span class="faint">{zone}</span></>],
        ]} />
        <div class="buttons"><a class="button" href={link('leaders/s', { scope })}>Its leadership</a><Copy text={`curl -H "Authorization: Bearer $TOKEN" '${urlOf('v1/catalog', { scope }).href.replaceAll("'", '%27')}'`}>Copy as curl</Copy></div>
      </section>
      <div class="tools"><input type="search" id="filter" placeholder="Part of a name" aria-label="Files by name" value={q} onInput={(e) => set({ q: e.currentTarget.value })} /><span class="faint small">{count(c.found, 'file')}{q ? ' like that' : ''}</span></div>
      {files.length === 0 ? <p class="panel faint">{q ? 'No file is like that.' : <>No file yet. The leader takes one: curl -T report.pdf …/v1/files/<Drawn text={encodeURIComponent(scope)} />/report.pdf</>}</p> : (
        <div class={'panel dense files' + (sight.known ? '' : ' old')}>
          {narrow ? null : <div class="row head" aria-hidden="true"><span>Name</span><span class="number">Size</span><span /></div>}
          <Virtual items={files} height={38} label="Files, by name" keyOf={(f) => f.name} draw={(f) => (
            <>
              <span><Name of={f.name} most={narrow ? 32 : 90} /></span>
              <span class="number">{sizeOf(f.size)}</span>
              {narrow ? null : <Copy text={f.name}>Copy its name</Copy>}
            </>
          )} />
        </div>
      )}
      {rest?.fault ? <p class="warn" role="alert">! They could not be read: {rest.fault}</p> : null}
      {next ? <button type="button" disabled={rest?.busy} onClick={() => void readMore(id, { scope, q }, next)}>{rest?.busy ? 'Reading…' : `Read ${part} more`}</button> : null}
    </>
  )
}
