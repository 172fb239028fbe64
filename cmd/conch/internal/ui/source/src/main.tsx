// The page: its bar, its views, its keys. What a view shows is in the fragment alone.
import { computed, signal, useComputed } from '@preact/signals'
import { render } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { link, open, view } from './address'
import { lockUp, operating } from './api'
import { asking, Dialog } from './dialog'
import { Events } from './events'
import { Bell, firing } from './firing'
import { HandOverDialog } from './handover'
import { later } from './later'
import { Leaders, OneScope } from './leaders'
import { Login } from './login'
import { verdictOf } from './model'
import { since } from './parts'
import { headline, how, live, loaded, needsToken, rows, session, skew, watchClock } from './store'
import { begin } from './stream'
import { Name, span } from './text'
import { Timeline } from './timeline'

const rowPages = () => import('./pages/rows')
const wingPages = () => import('./pages/wings')
const Transactions = later(async () => (await import('./pages/transactions')).Page)
const Contracts = later(async () => (await wingPages()).Contracts)
const Logs = later(async () => (await wingPages()).Logs)
const Overlay = later(async () => (await wingPages()).Overlay)
const Alerts = later(async () => (await rowPages()).Alerts)
const Crons = later(async () => (await rowPages()).Crons)
const Jobs = later(async () => (await rowPages()).Jobs)
const Dead = later(async () => (await rowPages()).Dead)
const Files = later(async () => (await import('./pages/files')).Page)
const Nodes = later(async () => (await rowPages()).Nodes)

// needs names what has to be on the node for a page to have a tab: a table of its configuration, or one of some, or scopes.
const pages: { path: string; title: string; key: string; needs: string[]; draw: () => preact.JSX.Element }[] = [
  { path: 'leaders', title: 'Leaders', key: 'l', needs: ['scopes'], draw: () => <Leaders /> },
  { path: 'timeline', title: 'Timeline', key: 't', needs: ['scopes'], draw: () => <Timeline /> },
  { path: 'events', title: 'Events', key: 'e', needs: ['scopes'], draw: () => <Events /> },
  { path: 'alerts', title: 'Alerts', key: 'a', needs: ['alerting', 'alerts', 'notify'], draw: () => <Alerts /> },
  { path: 'transactions', title: 'Transactions', key: 'x', needs: ['accounts'], draw: () => <Transactions /> },
  { path: 'contracts', title: 'Contracts', key: 'p', needs: ['contracts'], draw: () => <Contracts /> },
  { path: 'logs', title: 'Logs', key: 'g', needs: ['logs'], draw: () => <Logs /> },
  { path: 'overlay', title: 'Overlay', key: 'o', needs: ['gossip'], draw: () => <Overlay /> },
  { path: 'crons', title: 'Crons', key: 'c', needs: ['jobs'], draw: () => <Crons /> },
  { path: 'jobs', title: 'Jobs', key: 'j', needs: ['jobs'], draw: () => <Jobs /> },
  { path: 'dead', title: 'Dead letters', key: 'd', needs: ['jobs'], draw: () => <Dead /> },
  { path: 'files', title: 'Files', key: 'f', needs: ['files'], draw: () => <Files /> },
  { path: 'nodes', title: 'Nodes', key: 'n', needs: ['scopes'], draw: () => <Nodes /> },
]

/** tabs are the pages of what there is on the node; until it has said that, those of scopes. */
const tabs = computed(() => pages.filter(({ needs }) => (session.value?.parts ?? ['scopes']).some((part) => needs.includes(part))))

/** current is the page that the URL names, or without one the first that has a tab. */
const current = computed(() => {
  const path = view.value.path.split('/')[0]
  return location.hash.length < 3 ? (tabs.value[0] ?? pages[0]) : pages.find((p) => p.path === path)
})

/** The list of keys is asked for. */
const help = asking<null>()

function Page() {
  const path = view.value.path
  const page = current.value
  return (
    <>
      <a class="skip" href="#content" onClick={(e) => { e.preventDefault(); document.getElementById('content')?.focus() }}>To the content</a>
      <Bar at={page?.path ?? ''} />
      <main id="content" tabIndex={-1} class={live.value || how.value.is === 'connecting' ? '' : 'stale'}>
        {needsToken.value ? <Login /> : null}
        {how.value.is === 'polling' ? <p class="note" role="status">! {how.value.why}. What it shows is at most two seconds old.</p> : null}
        {skew.value ? <p class="note">! This browser’s clock is {span(Math.abs(skew.value))} {skew.value > 0 ? 'ahead of' : 'behind'} the node’s. Ages on this page are the node’s.</p> : null}
        {needsToken.value && !loaded.value ? null : path === 'leaders/s' ? <OneScope key={view.value.query.get('scope')} /> : page ? page.draw() : <section class="panel"><h1>There is no such page</h1><p><a href={link('leaders')}>Leaders</a></p></section>}
      </main>
      <HandOverDialog />
      <help.Asked draw={(_, close) => <Help close={close} />} />
    </>
  )
}

function Bar({ at }: { at: string }) {
  const s = session.value
  const nav = useRef<HTMLElement>(null)
  const many = tabs.value.length
  useEffect(() => { // on a phone the tab of this page may be out of sight
    const tab = nav.current?.querySelector<HTMLElement>('[aria-current]')
    if (nav.current && tab) nav.current.scrollLeft = tab.offsetLeft - nav.current.offsetLeft - 24
  }, [at, many])
  return (
    <header>
      <a class="brand" href={link(tabs.value[0]?.path ?? 'leaders')}>conch</a>
      {s?.cluster ? <span class="cluster" title="The name of the cluster"><Name of={s.cluster} most={24} /></span> : null}
      <nav ref={nav} aria-label="Pages"><ul>{tabs.value.map((p) => <li key={p.path}><a href={link(p.path)} aria-current={p.path === at ? 'page' : undefined}>{p.title}{p.path === 'alerts' ? <Bell /> : null}</a></li>)}</ul></nav>
      <div class="who">
        {s ? <span class="faint seen" title="The node that this page is seen from"><span class="words">seen from </span><b><Name of={s.node} most={20} /></b>{s.tokens ? <> · <Name of={s.name} most={16} />, may {s.may}</> : null}</span> : null}
        {operating.value ? <button type="button" onClick={lockUp}>may operate · lock</button> : null}
        <Liveness />
        <ThemeSwitch />
      </div>
    </header>
  )
}

function Liveness() {
  const { is, since: at } = how.value
  if (is === 'live') return <span class="live good"><span aria-hidden="true">●</span> live</span>
  if (is === 'polling') return <span class="live warn"><span aria-hidden="true">◐</span> each 2 s</span>
  if (is === 'connecting') return <span class="live faint"><span aria-hidden="true">○</span> connecting</span>
  return <span class="live warn"><span aria-hidden="true">○</span> not known{at ? <> for {since(at)}</> : null}</span>
}

const dark = signal<string>(['light', 'dark'].find((c) => document.documentElement.classList.contains(c)) ?? '')

function ThemeSwitch() {
  const next = { '': 'light', light: 'dark', dark: '' }[dark.value]!
  const change = () => {
    document.documentElement.classList.remove('light', 'dark')
    if (next) document.documentElement.classList.add(next)
    dark.value = next
    try {
      if (next) localStorage.setItem('conch-theme', next)
      else localStorage.removeItem('conch-theme')
    } catch {
      // It holds until the page is left.
    }
    dispatchEvent(new globalThis.Event('resize')) // what is drawn on a canvas has colours of its own
  }
  return <button type="button" class="theme" onClick={change} title={`Theme: ${dark.value || 'as the system'}`} aria-label={`Theme: ${dark.value || 'as the system'}. Change it.`}><span aria-hidden="true">{{ '': '◐', light: '☀', dark: '☾' }[dark.value]}</span></button>
}

function Help({ close }: { close: () => void }) {
  return (
    <Dialog title="Keys" close={close}>{(shut) => <>
      <dl class="keys">
        {tabs.value.map((p) => <div key={p.path}><dt><kbd>g</kbd> <kbd>{p.key}</kbd></dt><dd>{p.title}</dd></div>)}
        <div><dt><kbd>/</kbd></dt><dd>filter</dd></div>
        <div><dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next and previous row; Enter opens it</dd></div>
        <div><dt><kbd>?</kbd></dt><dd>this list; Esc closes it</dd></div>
      </dl>
      <div class="buttons"><button type="button" onClick={shut}>Close</button></div>
    </>}</Dialog>
  )
}

let going = 0

function keys(e: KeyboardEvent): void {
  const in_ = e.target instanceof HTMLElement ? e.target : document.body
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return
  if (in_.matches('input, select, textarea')) {
    if (e.key === 'Escape') in_.blur()
    return
  }
  if (going && performance.now() - going < 1500) {
    going = 0
    const to = tabs.value.find((p) => p.key === e.key)
    if (to) return open(to.path)
  }
  if (e.key === 'g') going = performance.now()
  else if (e.key === '?') help.ask(null)
  else if (e.key === '/') {
    const filter = document.getElementById('filter')
    if (filter) e.preventDefault()
    filter?.focus()
  } else if (e.key === 'j' || e.key === 'k') {
    const all = [...document.querySelectorAll<HTMLElement>('[data-row]')].sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top || a.getBoundingClientRect().left - b.getBoundingClientRect().left)
    const at = all.indexOf(document.activeElement as HTMLElement)
    all[Math.max(0, Math.min(all.length - 1, at + (e.key === 'j' ? 1 : -1)))]?.focus()
  }
}

/** Title puts the verdict where it is seen while another tab is open. */
function Title() {
  const title = useComputed(() => {
    const page = current.value?.title ?? ''
    if (headline.value) return `${headline.value} · ${page} · conch`
    if (current.value?.needs[0] !== 'scopes') return page ? `${page} · conch` : 'conch'
    if (!loaded.value) return 'conch'
    if (!live.value) return `? not known · ${page} · conch`
    const v = verdictOf(rows.value, 1)
    const well = v.tone === 'good' || v.tone === 'calm'
    const says = well && firing.value ? firing.value : v
    return `${says === v && well ? '' : `${says.sign} `}${says.text} · ${page} · conch`
  })
  useEffect(() => { document.title = title.value }, [title.value])
  return null
}

addEventListener('keydown', keys)
watchClock()
begin()
render(<><Title /><Page /></>, document.getElementById('page')!)
