// One event stream for all tabs of an origin and path: a browser opens six connections to a host, and a seventh tab would not even load.
// The tab that holds the lock reads the stream and passes each message on; when it closes, the next one reads on where it ended.
import { headers, keepReadToken, operating, readToken, refusalOf, urlOf } from './api'
import { load, lost, needsToken, poll, take } from './store'

type Told = { at: 'told'; kind: string; data: unknown; id: string } | { at: 'polled' } | { at: 'token?' } | { at: 'token'; token: string }

const name = 'conch ' + location.pathname
const channel = 'BroadcastChannel' in self ? new BroadcastChannel(name) : null
const firstByte = 3000
const pollEvery = 2000

let lastID = ''
let reading = false

function tell(kind: string, data: unknown): void {
  take(kind, data)
  channel?.postMessage({ at: 'told', kind, data, id: lastID } satisfies Told)
}

/** begin reads the stream, in this tab or in another, until the page ends. */
export function begin(): void {
  if (channel) channel.onmessage = (m: MessageEvent<Told>) => hear(m.data)
  if (!readToken()) channel?.postMessage({ at: 'token?' } satisfies Told)
  void load()
  if (navigator.locks) {
    // The lock is kept as long as the page lives. A browser that refuses it gets a stream of its own.
    navigator.locks.request(name, () => run(() => false)).catch(() => run(() => false))
  } else {
    void run(hiddenForLong)
  }
}

function hear(m: Told): void {
  switch (m.at) {
    case 'told':
      if (m.id) lastID = m.id
      if (!reading) take(m.kind, m.data)
      break
    case 'polled':
      if (!reading) void poll()
      break
    case 'token?':
      if (readToken()) channel?.postMessage({ at: 'token', token: readToken() } satisfies Told)
      break
    case 'token':
      if (!readToken()) admitted(m.token)
  }
}

let wake = () => {}

/** admitted goes on with a token that may read. */
export function admitted(token: string): void {
  keepReadToken(token)
  needsToken.value = false
  void load().then(() => wake())
}

let hiddenSince = 0
document.addEventListener('visibilitychange', () => {
  hiddenSince = document.hidden ? performance.now() : 0
  wake()
})

// Without a lock each tab has its own stream, and one that nobody sees gives its own up.
const hiddenForLong = () => hiddenSince > 0 && performance.now() - hiddenSince > 10_000

const pause = (ms: number) => new Promise<void>((done) => {
  const timer = setTimeout(done, ms)
  wake = () => {
    clearTimeout(timer)
    done()
  }
})

async function run(yields: () => boolean): Promise<void> {
  reading = true
  for (let tries = 0; ; tries++) {
    if (yields() || needsToken.value) {
      await pause(1000)
      continue
    }
    const began = performance.now()
    let patience = Math.min(2000, 250 * 2 ** tries)
    try {
      await once(yields)
    } catch (e) {
      if ((e as { status?: number }).status === 401) needsToken.value = true
      if ((e as { status?: number }).status === 503) patience = 5000
    }
    if (performance.now() - began > 5000) tries = -1
    lost()
    await pause(patience)
  }
}

/** once reads one stream to its end. */
async function once(yields: () => boolean): Promise<void> {
  const stop = new AbortController()
  let came = 0
  const opened = performance.now()
  const timer = setInterval(() => {
    if (yields() || (came > 0 && performance.now() - came > 15_000)) stop.abort()
    if (came === 0 && performance.now() - opened > firstByte) heldBack()
  }, 500)
  try {
    const token = readToken() || operating.value
    const answer = await fetch(urlOf('v1/events', { live: 'yes' }), {
      headers: { ...headers(token), ...(lastID ? { 'Last-Event-ID': lastID } : {}) }, cache: 'no-store', credentials: 'same-origin', signal: stop.signal,
    })
    if (!answer.ok || !answer.body) throw await refusalOf(answer)
    const from = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    for (;;) {
      const { done, value } = await from.read()
      if (done) return
      if (came === 0) tell('gap', {}) // all tabs read what happened before this stream
      came = performance.now()
      text = parse(text + value)
    }
  } finally {
    clearInterval(timer)
    stop.abort()
  }
}

let polledAt = 0

function heldBack(): void {
  if (performance.now() - polledAt < pollEvery) return
  polledAt = performance.now()
  void poll()
  channel?.postMessage({ at: 'polled' } satisfies Told)
}

/** parse takes whole messages out of a text and returns what is left. */
function parse(text: string): string {
  const blocks = text.split('\n\n')
  const left = blocks.pop() ?? ''
  for (const block of blocks) {
    let kind = 'message'
    const data: string[] = []
    for (const line of block.split('\n')) {
      const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
      if (field === 'event') kind = value
      if (field === 'data') data.push(value)
      if (field === 'id') lastID = value
    }
    if (data.length === 0) {
      tell('alive', null)
      continue
    }
    try {
      tell(kind, JSON.parse(data.join('\n')))
    } catch {
      tell('gap', {}) // a broken message: read everything anew
    }
  }
  return left
}
