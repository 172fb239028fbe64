// This node in the overlay: whom it suggests, its neighbours, what it has heard, and what is wrong. A suggestion is a hint, and no token.
import { bad, calm, good, tell, warn } from '../model'
import { Drawn, count, Instant, Name, plain, span } from '../text'
import { Copy } from '../parts'
import { ago, Banner, Bar, Facts, Mark, type Said, Sentence, Who, type Word } from './parts'
import { useReading, useSight } from './reading'

interface Namespace {
  namespace: string
  policy: string
  leader: string | null
  leader_proven: boolean
  reign: number
  since: string | null
  leads: boolean
  state: string
  back_ms?: number
  heard_ms: number | null
  valid_ms: number
  changes: number
  electors: string[]
  unled_since?: string
  majority_lost?: string
  electors_silent?: string[]
}

interface Neighbour { name: string; fingerprint: string; arcs: number; elector: boolean; differs: string[]; since: string }

interface News { namespace: string; topic: string; subject: string; subject_proven: boolean; fingerprint: string; body: string; age_ms: number }

interface Nodes {
  self: string
  fingerprint: string
  address: string
  namespaces: Namespace[]
  neighbours: Neighbour[]
  overlay: { arcs: number; joining: boolean; remembered: number }
  news: News[]
  contacts: string[]
  unreached: { name: string; why: string; since: string }[]
  twins: { name: string; last_seen: string; over: boolean }[]
  refused: Record<string, number>
  troubles: { detail: string; remedy: string; grave: boolean }[]
}

function standOf(n: Namespace): Word {
  if (n.majority_lost) return bad('no majority')
  if (!n.leader) return warn('nobody is suggested')
  if (n.leads) return good('it is this node')
  return good('is suggested')
}

function saidOf(n: Nodes): Said {
  const grave = n.troubles.filter((t) => t.grave)
  const near = count(n.neighbours.length, 'neighbour')
  if (grave.length > 0) return tell(bad, grave.length === 1 ? 'Something keeps this node from its place in the overlay' : `${grave.length} things keep this node from its place in the overlay`, 'What it is, and what to do, stands below.')
  const unled = n.namespaces.filter((one) => !one.leader).map((one) => plain(one.namespace))
  if (unled.length > 0) return tell(warn, `Nobody is suggested in ${unled.slice(0, 3).join(', ')}${unled.length > 3 ? ', …' : ''}`, `This node has ${near}.`)
  if (n.troubles.length > 0) return tell(warn, n.troubles.length === 1 ? 'Something in the overlay is not as it should be' : `${n.troubles.length} things in the overlay are not as they should be`, 'What they are, and what to do, stands below.')
  if (n.neighbours.length === 0) return tell(n.contacts.length > 0 ? warn : calm, `This node has no neighbour${n.overlay.joining ? ' yet: it tries to join' : ''}`, n.contacts.length > 0 ? `By ${n.contacts.slice(0, 3).map(plain).join(', ')}${n.contacts.length > 3 ? ', …' : ''}: is one of them up, and can this node reach it?` : 'Its configuration names no contact: it waits for others.')
  const leads = n.namespaces.map((one) => `${plain(one.leader ?? '')} in ${plain(one.namespace)}`)
  return tell(good, `A leader is suggested in ${n.namespaces.length === 1 ? 'the one namespace' : `all ${n.namespaces.length} namespaces`}, and this node has ${near}`, `${leads.slice(0, 4).join(', ')}${leads.length > 4 ? ', …' : ''}. That is a hint: another node may name another one for a while.`)
}

export function Page() {
  const reading = useReading<Nodes>('v1/nodes', {}, ['gossip.leader', 'gossip.news'])
  const sight = useSight(reading)
  const { value: n, refused } = reading.value
  if (refused?.type?.endsWith(':no-gossip')) {
    return <Banner tone="calm" sign="○" text="This node is in no overlay">Its configuration has no [gossip] table: docs/gossip.md says what that would give it.</Banner>
  }
  const known = sight.known
  return (
    <div class={'wing' + (known ? '' : ' unsure')}>
      <Sentence title="Overlay" sight={sight} said={n ? saidOf(n) : null} />
      {n && n.troubles.length > 0 ? (
        <section class={'panel state-edge ' + (!known ? 'unknown' : n.troubles.some((t) => t.grave) ? 'bad' : 'warn')}>
          <h2>What is wrong</h2>
          <ul class="troubles">
            {n.troubles.map((t) => <li key={t.detail}><p class={known ? (t.grave ? 'bad' : 'warn') : ''}>{known ? (t.grave ? '✕ ' : '! ') : '? '}<Drawn text={t.detail} /></p><p>→ <Drawn text={t.remedy} /> <Copy text={t.remedy}>Copy</Copy></p></li>)}
          </ul>
        </section>
      ) : null}
      {n ? <ul class="cards wide">{n.namespaces.map((one) => <Suggested key={one.namespace} n={one} self={n.self} known={known} />)}</ul> : null}
      {n ? <div class="halves"><Near n={n} known={known} /><Place n={n} known={known} /></div> : null}
      {n ? <Heard n={n} /> : null}
    </div>
  )
}

function Suggested({ n, self, known }: { n: Namespace; self: string; known: boolean }) {
  const stand = standOf(n)
  const late = !n.leads && n.heard_ms !== null && n.heard_ms > n.valid_ms / 2
  const left = n.leads ? 1 : n.heard_ms === null ? 0 : !late ? 1 : 1 - n.heard_ms / Math.max(1, n.valid_ms)
  return (
    <li class={'panel state-edge ' + (known ? stand.tone : 'unknown')}>
      <div class="line"><h2 class="cut"><Name of={n.namespace} most={26} /></h2><Mark known={known} {...stand} /></div>
      <div class="line"><span class="big cut">{n.leader ? <Who of={n.leader} among={n.electors} leads most={22} /> : 'nobody'}</span><span class="faint number">reign {n.reign.toLocaleString('en')}</span></div>
      {n.leader && !n.leader_proven && !n.leader.startsWith('sha256:') ? <p class="small warn">! The name is its own word: nobody has proven it.</p> : null}
      <div class="measure"><Bar part={known ? left : 0} tone={late ? 'warn' : 'good'} /><span class={'small number ' + (known && late ? 'warn' : 'faint')}>{!known || !n.leader ? '' : n.leads ? 'this node' : n.heard_ms === null ? 'never heard' : late ? `late: ${span(n.heard_ms)}` : 'is heard'}</span></div>
      <p class="small faint">{n.leader && n.since ? <>Since <Instant at={n.since} dated />. </> : n.unled_since ? <>Nobody since <Instant at={n.unled_since} dated />. </> : null}{count(n.changes, 'change')} since this node’s start. <span class="whole"><Name of={self} most={18} /></span> is {n.state}{n.back_ms ? ` for ${span(n.back_ms)} more` : ''}.</p>
      <div class="candidates">{n.electors.length === 0 ? <span class="small faint">Every node may lead.</span> : n.electors.map((e) => {
        const mute = n.electors_silent?.includes(e)
        return <span key={e}><Who of={e} among={n.electors} leads={e === n.leader} most={20} />{mute ? <span class={known ? 'warn' : ''}> ! silent</span> : null}</span>
      })}</div>
    </li>
  )
}

function Near({ n, known }: { n: Nodes; known: boolean }) {
  return (
    <section class="panel" aria-label="Neighbours">
      <h2>Neighbours</h2>
      {n.neighbours.length === 0 ? <p class="faint">None{n.overlay.joining ? ' yet: it tries to join by ' + (n.contacts.map((c) => plain(c)).join(', ') || 'nobody, since no contact is named') : ''}.</p> : null}
      <ul class="rows">
        {n.neighbours.map((p) => (
          <li key={p.fingerprint} class="near" title={p.fingerprint}>
            <span class="cut"><Who of={p.name} among={n.neighbours.map((one) => one.name)} leads={n.namespaces.some((one) => one.leader === p.name)} most={26} /></span>
            <span class="small faint">{p.elector ? 'elector' : count(p.arcs, 'arc')}</span>
            <span class="small faint right">since <Instant at={p.since} dated /></span>
            {p.differs.length > 0 ? <span class={'small whole' + (known ? ' warn' : '')}>! other {p.differs.join(', ')} in [gossip] than here</span> : null}
          </li>
        ))}
      </ul>
    </section>
  )
}

function Place({ n, known }: { n: Nodes; known: boolean }) {
  const refused = Object.entries(n.refused).sort((a, b) => b[1] - a[1])
  return (
    <section class="panel" aria-label="This node">
      <div class="line"><h2>This node</h2><Copy text={n.fingerprint}>Copy its fingerprint</Copy></div>
      <Facts all={[
        ['Name', <Name of={n.self} most={34} />],
        ['Others reach it at', <Name of={n.address || '–'} most={40} />],
        ['View', `${count(n.overlay.arcs, 'arc')}, ${n.overlay.remembered} more remembered`],
        ['Joins by', n.contacts.length === 0 ? 'nobody: it is a contact, or waits' : <Name of={n.contacts.join(', ')} most={60} />],
        ['Left out since its start', refused.length === 0 ? 'nothing' : refused.map(([why, times]) => `${plain(why)} ${times.toLocaleString('en')}`).join(', ')],
      ]} />
      {n.unreached.length > 0 ? (
        <>
          <h3>Not reached</h3>
          <ul class="rows">{n.unreached.map((u) => <li key={u.name} class="near"><span class="cut"><Name of={u.name} most={26} /></span><span class={'small' + (known ? ' warn' : '')}>! {plain(u.why)}</span><span class="small faint right">since <Instant at={u.since} dated /></span></li>)}</ul>
        </>
      ) : null}
      {n.twins.some((t) => t.over) ? <p class="small faint">Two hosts had one key or name and one has gone: {n.twins.filter((t) => t.over).map((t) => plain(t.name)).join(', ')}.</p> : null}
    </section>
  )
}

/** bodyOf is what somebody has said, as a text if it is one. */
function bodyOf(base64: string): string {
  const raw = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(raw).slice(0, 300)
  } catch {
    return `${count(raw.length, 'byte')} that are no text`
  }
}

function Heard({ n }: { n: Nodes }) {
  return (
    <section class="panel" aria-label="News">
      <h2>News of the last minute</h2>
      {n.news.length === 0 ? <p class="faint">None. What a node is to tell others is put with PUT /v1/nodes/NAMESPACE/news/TOPIC.</p> : null}
      <ul class="rows">
        {n.news.map((i) => (
          <li key={i.namespace + '\n' + i.topic + '\n' + i.fingerprint} class="news">
            <span class="cut"><Name of={i.namespace} most={16} />/<Name of={i.topic} most={24} /></span>
            <span class="cut"><Name of={i.subject} most={22} />{i.subject_proven || i.subject.startsWith('sha256:') ? '' : ' (its own word)'}</span>
            <span class="cut" title={plain(bodyOf(i.body))}><Drawn text={bodyOf(i.body)} /></span>
            <span class="small faint right">{ago(i.age_ms)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
