// Requests to the node that served this page. URLs are relative, so that a page below any path of a proxy finds it.
import { signal } from '@preact/signals'

/** Refusal is a problem document, or a request that had no answer: status 0. */
export class Refusal extends Error {
  constructor(readonly status: number, readonly type: string, detail: string) {
    super(detail)
  }
}

/** mayOperateFor is how long the operating token is kept, in memory alone. */
export const mayOperateFor = 10 * 60_000

/** operating is the token for actions; empty while it is locked. */
export const operating = signal('')
let lock = 0

export function unlock(token: string): void {
  operating.value = token
  clearTimeout(lock)
  lock = window.setTimeout(() => (operating.value = ''), mayOperateFor)
}

export function lockUp(): void {
  clearTimeout(lock)
  operating.value = ''
}

const key = 'conch-token'
let reading = stored()

function stored(): string {
  try {
    return sessionStorage.getItem(key) ?? ''
  } catch {
    return '' // a browser that keeps nothing
  }
}

export const readToken = () => reading

export function keepReadToken(token: string): void {
  reading = token
  try {
    if (token) sessionStorage.setItem(key, token)
    else sessionStorage.removeItem(key)
  } catch {
    // It is kept in memory then.
  }
}

export const urlOf = (path: string, query: Record<string, string | number | undefined> = {}): URL => {
  const url = new URL(path, document.baseURI)
  url.hash = ''
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== '') url.searchParams.set(name, String(value))
  return url
}

export function headers(token: string): Record<string, string> {
  return token ? { 'Conch-Token': token } : {}
}

/** random draws bytes, as hexadecimal digits. */
export const random = (bytes: number) => [...crypto.getRandomValues(new Uint8Array(bytes))].map((one) => one.toString(16).padStart(2, '0')).join('')

/** uuid draws a name for what is asked for. randomUUID is not there on plain HTTP. */
export const uuid = () => random(16).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5')

export async function refusalOf(answer: Response): Promise<Refusal> {
  let said: { type?: string; detail?: string; title?: string } = {}
  try {
    said = await answer.json()
  } catch {
    // A proxy's own page: its status has to do.
  }
  return new Refusal(answer.status, said.type ?? '', said.detail ?? said.title ?? `the answer was ${answer.status}`)
}

/** Early is what was asked for before this was loaded, and when, by performance.now(). */
export interface Early { at: number; answer: Promise<Response> }

declare global {
  var early: Record<string, Early> | undefined // by URL, until it is taken
}

/** freshFor is for how long an answer is of now. */
export const freshFor = 3000

/** sentAt is when what is asked for next is sent, or was sent early. */
export const sentAt = (url: URL): number => taken(url)?.at ?? performance.now()

const taken = (url: URL) => {
  const one = self.early?.[url.href]
  return one && performance.now() - one.at < freshFor ? one : undefined
}

async function send<T>(url: URL, init: RequestInit, patience: number): Promise<T> {
  let answer: Response
  const early = init.method ? undefined : taken(url)
  delete self.early?.[url.href]
  try {
    answer = await (early?.answer ?? fetch(url, { ...init, credentials: 'same-origin', cache: 'no-store', signal: AbortSignal.timeout(patience) }))
  } catch (e) {
    throw new Refusal(0, '', (e as Error).name === 'TimeoutError' ? 'the node did not answer in time' : 'the node cannot be reached')
  }
  if (!answer.ok) throw await refusalOf(answer)
  try {
    return (await answer.json()) as T
  } catch {
    throw new Refusal(0, '', 'the node’s answer was cut off')
  }
}

/** read asks for something, with the token that may read, or the operating one if there is only that. */
export const read = <T>(path: string, query?: Record<string, string | number | undefined>, patience = 8000): Promise<T> =>
  send<T>(urlOf(path, query), { headers: headers(reading || operating.value) }, patience)

/** act asks for a change. The caller has said what it will do. */
export const act = <T>(path: string, body: unknown, patience: number): Promise<T> =>
  send<T>(urlOf(path), {
    method: 'POST', body: JSON.stringify(body),
    headers: { ...headers(operating.value || reading), 'Content-Type': 'application/json' },
  }, patience)
