// What is sent from the accounts of this node: how they stand, how much is under way, and the newest transactions.
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { link, open, set, view } from '../address'
import { read, type Refusal } from '../api'
import { Holder, useNarrow, Virtual } from '../parts'
import { listen, live, now, rows, serverNow } from '../store'
import { Drawn, Instant, Name, plain, span, zone } from '../text'
import { Chart } from './chart'
import { type Account, type Accounts, amount, ends, exact, grouped, told, type Listed, type News, type Outcome, type Policy, stateOf, storyOf, type Transaction, verdictOf } from './money'
import { ago, Mark, Sentence } from './parts'
import { useDatabase } from './reading'
import { Send, SendDialog } from './send'
import { OneTransaction } from './transaction'

const page = 100

/** fates are what the list can be asked for, and outcomes what it can be searched for besides: of those the node knows that they are final. */
const fates: [string, string][] = [['queued', 'queued'], ['open', 'sent, not final'], ['done', 'final, whatever it did'], ...Object.entries(ends).map(([outcome, { word }]): [string, string] => [outcome, word])]
const final = ['succeeded', 'reverted', 'partly', 'unknown']

/** Page is the list, or one transaction. */
export function Page() {
  const { path, query } = view.value
  return path === 'transactions/t' ? <OneTransaction key={query.get('id')} id={query.get('id') ?? ''} /> : <Transactions />
}

const age = (iso: string) => serverNow() - Date.parse(iso)

function Transactions() {
  const query = view.value.query
  void now.value
  const { reading, sight } = useDatabase<Accounts>('v1/accounts', {}, told, { every: 30_000, least: 5000, patience: 8000 })
  const accounts = reading.value?.accounts ?? []
  if (reading.refused?.status === 404) return <section class="panel"><h1>Transactions</h1><p class="faint">This node sends no transactions.</p></section>
  return (
    <>
      <Sentence title="Transactions" sight={sight} said={reading.value ? verdictOf(accounts, age) : null} database />
      {accounts.length > 0 ? (
        <>
          <ul class="cards accounts">{accounts.map((a) => <AccountCard key={a.name} a={a} known={sight.known} />)}</ul>
          <Chart accounts={accounts} wide={query.get('w') ?? ''} account={query.get('account') ?? ''} />
          <List accounts={accounts} />
          <Policies />
          <SendDialog accounts={accounts} />
        </>
      ) : null}
    </>
  )
}

function AccountCard({ a, known }: { a: Account; known: boolean }) {
  const row = rows.value.find((r) => r.scope === a.scope)
  const led = live.value && row && row.state !== 'nobody' && row.state !== 'released'
  const bad = (a.alarms?.length ?? 0) > 0
  const elsewhere = a.alarms === null // it is led by another node, which alone knows its alarms
  const tone = !known ? 'unknown' : bad ? 'bad' : a.waiting_for ? 'warn' : elsewhere ? 'calm' : 'good'
  return (
    <li class={'card ' + tone}>
      <div class="line"><h2><Name of={a.name} most={26} /></h2><Mark known={known} tone={tone} sign={bad ? '✕' : a.waiting_for ? '!' : elsewhere ? '○' : '✓'} word={bad ? 'needs somebody' : a.waiting_for ? 'held up' : elsewhere ? 'led elsewhere' : 'nothing in the way'} /></div>
      <div class="line small faint"><span><Name of={a.address} most={20} /></span><span class="right"><Name of={a.chain} most={16} /></span></div>
      <dl class="short">
        <div><dt>Has</dt><dd title={exact(a.balance)}>{a.balance === null ? 'not known' : amount(a.balance)}</dd></div>
        <div><dt>Queued</dt><dd>{a.queued.toLocaleString('en')}</dd></div>
        <div><dt>Sent</dt><dd>{a.in_flight.toLocaleString('en')}{a.gaps ? <span class="warn">, {a.gaps} being filled</span> : null}</dd></div>
        <div><dt>In a block</dt><dd>{a.in_block.toLocaleString('en')}</dd></div>
        <div><dt>Next nonce</dt><dd>{a.next_nonce === null ? '?' : a.next_nonce.toLocaleString('en')}{a.nonce !== null && a.next_nonce !== null && a.nonce !== a.next_nonce ? <span class="faint">, chain {a.nonce.toLocaleString('en')}</span> : null}</dd></div>
        <div><dt>Oldest</dt><dd>{a.oldest_at ? <span title={a.oldest_at}>{ago(age(a.oldest_at))}</span> : 'none waits'}</dd></div>
      </dl>
      {a.unknown ? <p class="obstacle warn">! The chain does not say what it has: <Drawn text={a.unknown} /></p> : null}
      {a.waiting_for ? (
        <p class="obstacle"><b>In the way{a.waiting_for.since ? ` for ${span(age(a.waiting_for.since))}` : ''}: </b><Drawn text={a.waiting_for.reason} />
          {a.waiting_for.intent ? <> <a href={link('transactions/t', { id: a.waiting_for.intent })}>The one in the way</a></> : null}</p>
      ) : null}
      {a.alarms?.map((x) => (
        <p class="obstacle" key={x.cause + x.nonce + x.intent}><b class="bad">✕ <Drawn text={x.cause} /></b> for {span(age(x.since))}{x.nonce !== undefined ? `, nonce ${x.nonce}` : ''}: <Drawn text={x.means} />{x.error ? <>. “<Drawn text={x.error} />”</> : null}. <b>What to do:</b> <Drawn text={x.remedy} />.
          {x.intent ? <> <a href={link('transactions/t', { id: x.intent })}>Its transaction</a></> : null}</p>
      ))}
      {known && elsewhere ? <p class="small faint">Its alarms are known to the node that leads it.</p> : null}
      <div class="line foot">
        <span class="small">{!live.value ? <span class="faint">sent by: not known now</span> : led ? <>sent by <Holder of={row.holder} most={16} /></> : a.leads ? 'sent by this node' : row ? <a href={link('leaders/s', { scope: a.scope })} class="bad">✕ nobody sends</a> : <span class="faint">no node has led it yet</span>}</span>
        <Send account={a.name} />
      </div>
    </li>
  )
}

interface Filter { account: string; fate: string; find: string }

/** asked is what the list is asked for. What somebody looks for tells by its form what it is. */
function asked(f: Filter): Record<string, string | undefined> {
  const find = f.find.trim()
  const by = !find ? {} : /^0x[0-9a-f]{40}$/i.test(find) ? { to: find } : /^0x[0-9a-f]+$/i.test(find) ? { hash: find } : /^\d+$/.test(find) && f.account ? { nonce: find } : f.account ? { key: find } : null
  return { account: f.account, fate: final.includes(f.fate) ? 'done' : f.fate, ...by, ...(by ? {} : { hash: '0x' + '0'.repeat(64) }) }
}

/** older are those that were read besides the newest, for one filter. */
const older = signal<{ of: string; all: Transaction[]; next: string | null | undefined; busy: boolean; fault: string }>({ of: '', all: [], next: undefined, busy: false, fault: '' })

async function readOlder(of: string, query: Record<string, string | undefined>, cursor: string): Promise<void> {
  const have = older.value.of === of ? older.value.all : []
  older.value = { of, all: have, next: cursor, busy: true, fault: '' }
  try {
    const got = await read<Listed>('v1/transactions', { ...query, cursor, limit: page })
    if (older.value.of === of) older.value = { of, all: [...have, ...got.transactions], next: got.next, busy: false, fault: '' }
  } catch (e) {
    if (older.value.of === of) older.value = { ...older.value, busy: false, fault: (e as Refusal).message }
  }
}

/** hear brings those that are no longer among the newest up to date. */
function hear(data: unknown): void {
  const news = data as News
  const at = older.value.all.findIndex((t) => t.id === news.id && t.version < news.version)
  if (at < 0) return
  const all = [...older.value.all]
  const { version, fate, outcome, nonce, hash, block, why } = news
  all[at] = { ...all[at]!, version, fate, outcome, nonce, hash, block, why, waiting_for: outcome ? null : all[at]!.waiting_for }
  older.value = { ...older.value, all }
}

const newest = { every: 15_000, least: 1000, patience: 8000 }

function List({ accounts }: { accounts: Account[] }) {
  const query = view.value.query
  const narrow = useNarrow()
  const f: Filter = { account: query.get('account') ?? '', fate: query.get('fate') ?? '', find: query.get('find') ?? '' }
  const ask = asked(f)
  const of = JSON.stringify(ask)
  const { reading, sight } = useDatabase<Listed>('v1/transactions', { ...ask, limit: page }, told, newest)
  useEffect(() => listen(told, hear), [])
  const more = older.value.of === of ? older.value : null
  const first = reading.value?.transactions ?? []
  const seen = new Set(first.map((t) => t.id))
  const had = [...first, ...(more?.all ?? []).filter((t) => !seen.has(t.id))]
  const searched = final.includes(f.fate)
  const all = searched ? had.filter((t) => t.outcome === (f.fate as Outcome)) : had
  const next = more ? more.next : reading.value?.next
  const filtered = Boolean(f.account || f.fate || f.find)
  return (
    <>
      <div class="line title"><h2>Newest transactions</h2>{sight.known || sight.asked ? null : <span class="warn">! what has happened since is not known now{reading.refused?.status ? `: ${reading.refused.message}` : ''}</span>}</div>
      <Filters f={f} accounts={accounts} />
      {sight.asked && !reading.value ? <p class="panel faint">Asking the node…</p> : all.length === 0 ? (
        <p class="panel faint">{!reading.value ? 'None was read yet.' : filtered ? searched ? `None of the ${had.length.toLocaleString('en')} that were read has ended like that.` : 'No transaction is like that. A nonce or a key is looked for in one account: choose it.' : 'No transaction yet. Send one from here, or: conch tx send --help'}</p>
      ) : (
        <div class={'panel dense transactions' + (sight.known ? '' : ' old')}>
          {narrow ? null : <div class="row head" aria-hidden="true"><span>Accepted</span><span>Transaction</span><span>Account</span><span class="number">Nonce</span><span>State</span><span>What</span></div>}
          <Virtual items={all} height={narrow ? 62 : 38} label="Transactions, the newest first" keyOf={(t) => t.id} draw={(t) => (
            <>
              <span class="faint"><Instant at={t.created_at} dated /></span>
              <a href={link('transactions/t', { id: t.id })} data-row><Name of={t.id} most={narrow ? 14 : 22} /></a>
              <span><Name of={t.account} most={20} /></span>
              <span class="number">{t.nonce ?? '–'}</span>
              <Mark known={sight.known || t.outcome !== null} {...stateOf(t)} />
              <span class="cut" title={plain(storyOf(t))}><Drawn text={storyOf(t)} /></span>
            </>
          )} />
        </div>
      )}
      <p class="faint small">{searched ? `${all.length.toLocaleString('en')} of ` : ''}{had.length.toLocaleString('en')} read, times of {zone}.</p>
      {more?.fault ? <p class="warn" role="alert">! They could not be read: {more.fault}</p> : null}
      {next ? <button type="button" disabled={more?.busy || !live.value} onClick={() => void readOlder(of, ask, next)}>{more?.busy ? 'Reading…' : `Read ${page} older`}</button> : null}
    </>
  )
}

/** Policies are what the callers of each token may have sent still. */
function Policies() {
  const { reading, sight } = useDatabase<{ policies: Policy[] }>('v1/policies', {}, told, newest)
  const all = reading.value?.policies ?? []
  if (all.length === 0) return null
  return (
    <>
      <div class="line title"><h2>Policies</h2><span class="faint small">What a token has spent in this day, or this minute, of UTC.</span></div>
      <div class={'panel scrolls' + (sight.known ? '' : ' old')} tabIndex={0} role="region" aria-label="Policies">
        <table>
          <thead><tr><th>Token</th><th>Chain</th><th>May also</th><th>Limit</th><th class="number">Left</th><th class="number">Of</th></tr></thead>
          <tbody>{all.flatMap((p) => (p.limits.length ? p.limits : [null]).map((l, i) => {
            const over = sight.known && l?.left === '0'
            return (
              <tr key={p.token + p.chain + l?.name}>
                <td>{i ? '' : <Name of={p.token} most={24} />}</td>
                <td>{i ? '' : <Name of={p.chain} most={18} />}</td>
                <td>{i ? '' : p.may.map((m) => m.replace('_', ' ')).join(', ') || '–'}</td>
                <td>{l ? <Name of={l.name} most={34} /> : 'no amount is limited'}</td>
                <td class={'number' + (over ? ' warn' : '')}>{l ? `${over ? '! ' : ''}${grouped(l.left)}` : '–'}</td>
                <td class="number">{l ? grouped(l.most) : '–'}</td>
              </tr>
            )
          }))}</tbody>
        </table>
      </div>
    </>
  )
}

const isID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

function Filters({ f, accounts }: { f: Filter; accounts: Account[] }) {
  const find = (text: string) => (isID.test(text.trim()) ? open('transactions/t', { id: text.trim() }) : set({ find: text }))
  return (
    <div class="tools finds">
      <input type="search" id="filter" placeholder="ID, hash, receiver, nonce or key" aria-label="Find by ID, hash, receiver, nonce or key" value={f.find} onChange={(e) => find(e.currentTarget.value)} />
      <select aria-label="Account" value={f.account} onChange={(e) => set({ account: e.currentTarget.value })}>
        <option value="">every account</option>
        {[...new Set([...accounts.map((a) => a.name), f.account])].filter(Boolean).map((name) => <option key={name} value={name}>{plain(name)}</option>)}
      </select>
      <select aria-label="Fate" value={f.fate} onChange={(e) => set({ fate: e.currentTarget.value })}>
        <option value="">every fate</option>
        {fates.map(([fate, word]) => <option key={fate} value={fate}>{word}</option>)}
      </select>
      {f.account || f.fate || f.find ? <button type="button" class="quiet" onClick={() => set({ account: '', fate: '', find: '' })}>Show all</button> : null}
    </div>
  )
}
