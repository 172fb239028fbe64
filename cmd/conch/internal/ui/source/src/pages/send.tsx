// Sending a transaction: first what it would do and cost, then the sending. The key makes a second click harmless.
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { link } from '../address'
import { act, random } from '../api'
import { asking, Dialog, needsOperating, Unlock, whyRefused } from '../dialog'
import { live } from '../store'
import { Drawn, Name, plain } from '../text'
import { type Account, amount, exact, grouped } from './money'

interface Would {
  account: string
  chain: string
  address: string
  accepted: boolean
  refusal: { detail?: string; title?: string } | null
  id: string | null
  limits: { name: string; most: string; left: string; until: string; needs: string }[]
  works: boolean | null
  reason?: string
  gas: number | null
  max_fee: string | null
  cost: string | null
  balance: string | null
  waits?: string
  unknown?: string
}

/** The account from which somebody wants to send. */
const { ask: from, Asked } = asking<string>()

export function Send({ account }: { account: string }) {
  return <button type="button" disabled={!live.value} onClick={() => from(account)}>Send…</button>
}

export function SendDialog({ accounts }: { accounts: Account[] }) {
  return <Asked draw={(account, close) => <Form account={account} accounts={accounts} close={close} />} />
}

const longest = 15_000

/** bodyOf makes a request of what was filled in; empty fields are left out. */
function bodyOf(form: HTMLFormElement): Record<string, unknown> | string {
  const body: Record<string, unknown> = {}
  for (const [name, value] of new FormData(form)) {
    const text = String(value).trim()
    if (text && name !== 'args' && name !== 'gas') body[name] = text
  }
  const text = (name: string) => String(new FormData(form).get(name) ?? '').trim()
  if (text('args')) {
    try {
      body['args'] = JSON.parse(text('args'))
    } catch {
      return 'The arguments are not JSON, such as ["0x…", "1000"].'
    }
    if (!Array.isArray(body['args'])) return 'The arguments are not an array, such as ["0x…", "1000"].'
  }
  if (text('gas')) {
    if (!/^\d{1,15}$/.test(text('gas'))) return 'Gas is a whole number, or is left out to be estimated.'
    body['gas'] = Number(text('gas'))
  }
  return body
}

type State = { is: 'open' | 'asking' | 'refused'; text: string } | { is: 'sent'; id: string }

function Form({ account, accounts, close }: { account: string; accounts: Account[]; close: () => void }) {
  const form = useRef<HTMLFormElement>(null)
  const key = useRef('page-' + random(12))
  const would = useSignal<{ of: string; is: Would } | null>(null)
  const state = useSignal<State>({ is: 'open', text: '' })
  const ask = async (send: boolean) => {
    const body = bodyOf(form.current!)
    if (typeof body === 'string') {
      state.value = { is: 'refused', text: body }
      return
    }
    const of = JSON.stringify(body)
    if (send && would.value?.of !== of) return
    state.value = { is: 'asking', text: '' }
    try {
      if (send) {
        state.value = { is: 'sent', id: (await act<{ id: string }>('v1/transactions', body, longest)).id }
      } else {
        would.value = { of, is: await act<Would>('v1/transactions?dry_run=true', body, longest) }
        state.value = { is: 'open', text: '' }
      }
    } catch (e) {
      state.value = { is: 'refused', text: whyRefused(e) }
    }
  }
  const s = state.value
  const ready = would.value !== null && would.value.is.accepted && would.value.is.works !== false && would.value.is.id === null
  return (
    <Dialog title="Send a transaction" close={close} kind="send">{(shut) => s.is === 'sent' ? (
        <>
          <p role="status" class="good">✓ It is stored, and is sent by the node that leads the account: <a href={link('transactions/t', { id: s.id })} onClick={shut}><Name of={s.id} most={40} /></a></p>
          <div class="buttons"><button type="button" onClick={shut}>Close</button></div>
        </>
      ) : needsOperating() ? (
        <>
          <p>Sending spends what the account has, and so does not need the token that reads but one that may operate. You see what it would do before anything is sent.</p>
          <Unlock />
          <div class="buttons"><button type="button" onClick={shut}>Leave it</button></div>
        </>
      ) : (
        <>
          <form ref={form} onInput={() => (would.value = null)} onSubmit={(e) => { e.preventDefault(); void ask(false) }}>
            <Fields account={account} accounts={accounts} newKey={key.current} />
          </form>
          {would.value ? <WouldDo w={would.value.is} /> : null}
          {s.is === 'refused' ? <p class="bad" role="alert">✕ {s.text}</p> : null}
          <div class="buttons">
            <button type="button" onClick={shut}>Leave it</button>
            <button type="button" class={ready ? '' : 'main'} disabled={!live.value || s.is === 'asking'} onClick={() => void ask(false)}>{s.is === 'asking' && !ready ? 'Asking the node…' : 'What would it do?'}</button>
            <button type="button" class={ready ? 'main' : ''} disabled={!live.value || !ready || s.is === 'asking'} onClick={() => void ask(true)}>{s.is === 'asking' && ready ? 'Sending…' : 'Send it'}</button>
          </div>
        </>
      )}</Dialog>
  )
}

function Fields({ account, accounts, newKey }: { account: string; accounts: Account[]; newKey: string }) {
  const kind = useSignal<'data' | 'function'>('function')
  const text = { autocomplete: 'off', spellcheck: false } as const
  return (
    <>
      <label>From <select name="account">{accounts.map((a) => <option key={a.name} value={a.name} selected={a.name === account}>{plain(a.name)}, {plain(a.chain)}</option>)}</select></label>
      <label>To <input name="to" {...text} placeholder="0x…, or none for a contract" /></label>
      <label>Value, in wei <input name="value" {...text} inputMode="numeric" placeholder="0" /></label>
      <label>Call <select value={kind.value} onChange={(e) => (kind.value = e.currentTarget.value as 'data' | 'function')}><option value="function">of a function</option><option value="data">as bytes</option></select></label>
      {kind.value === 'function' ? (
        <>
          <label>Function <input name="function" {...text} placeholder="transfer(address,uint256)" /></label>
          <label>Arguments, as JSON <input name="args" {...text} placeholder={'["0x…", "1000"]'} /></label>
        </>
      ) : <label>Data <input name="data" {...text} placeholder="0x…" /></label>}
      <label>Gas <input name="gas" {...text} inputMode="numeric" placeholder="estimated" /></label>
      <label>Speed <select name="speed"><option value="slow">slow</option><option value="normal" selected>normal</option><option value="fast">fast</option></select></label>
      <label>Most for a unit of gas, in wei <input name="max_fee" {...text} inputMode="numeric" placeholder="what the account may pay" /></label>
      <label>Idempotency key <input name="idempotency_key" {...text} defaultValue={newKey} /></label>
    </>
  )
}

/** WouldDo says what the request would do now. */
function WouldDo({ w }: { w: Would }) {
  return (
    <div class="panel would" role="status">
      <h3>What it would do now</h3>
      <ul class="what">
        {w.accepted ? null : <li class="bad">✕ It would be refused: <Drawn text={w.refusal?.detail ?? w.refusal?.title ?? 'no reason was given'} /></li>}
        {w.id ? <li class="warn">! A transaction has this key already, so nothing new would be sent: <Name of={w.id} most={40} /></li> : null}
        {w.works === false ? <li class="bad">✕ The call fails: <Drawn text={w.reason ?? 'the chain does not say why'} />. Without gas it is rejected; with gas it costs its fee and has no effect.</li> : null}
        {w.works === null ? <li class="warn">! Whether the call works is not known{w.unknown ? <>: <Drawn text={w.unknown} /></> : null}.</li> : null}
        {w.cost !== null ? <li>It takes at most <b title={exact(w.cost)}>{amount(w.cost)}</b> from <Name of={w.account} />{w.balance !== null ? <>, which has <span title={exact(w.balance)}>{amount(w.balance)}</span></> : null}{w.gas !== null ? `: ${w.gas.toLocaleString('en')} gas` : ''}{w.max_fee !== null ? ` at ${amount(w.max_fee)} at most, and the value` : ''}. Later attempts may offer more.</li> : null}
        {w.waits ? <li class="warn">! It would wait first: <Drawn text={w.waits} /></li> : null}
        {w.limits.map((l) => <li key={l.name}>Of <Name of={l.name} /> it takes {grouped(l.needs)}; {grouped(l.left)} of {grouped(l.most)} are left.</li>)}
        <li>Once it is in a block, nobody can take it back. The same key again sends nothing twice.</li>
      </ul>
    </div>
  )
}
