// The fragment of the URL is the whole state of a view: a link shows the same.
import { computed, signal } from '@preact/signals'

const fragment = signal(location.hash)
addEventListener('hashchange', () => (fragment.value = written = location.hash))

/** view is the page that the URL names, and its parameters. */
export const view = computed(() => {
  const [path = '', query = ''] = fragment.value.replace(/^#\/?/, '').split(/\?(.*)/s)
  return { path: path || 'leaders', query: new URLSearchParams(query) }
})

/** link is a relative URL of a view. */
export function link(path: string, query: Record<string, string | undefined> = {}): string {
  const q = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value) q.set(key, value)
  const text = q.toString()
  return '#/' + path + (text ? '?' + text : '')
}

// Browsers refuse a page that writes its URL in each frame of a movement, the strictest one after 100 times in 30 s: the first change is
// written at once, and those that follow it twice a second.
let written = location.hash
let waits = 0

function write(): void {
  if (location.hash !== written || written === fragment.value) return // somebody has gone on, or there is nothing new
  history.replaceState(null, '', fragment.value)
  written = fragment.value = location.hash
  waits = window.setTimeout(() => {
    waits = 0
    write()
  }, 500)
}

/** here is the URL of the view. */
export const here = () => new URL(fragment.value, location.href).href

/** set changes parameters of this view, without a new entry in the browser's history. */
export function set(query: Record<string, string | undefined>): void {
  fragment.value = link(view.value.path, { ...Object.fromEntries(view.value.query), ...query })
  if (!waits) write()
}

export function open(path: string, query: Record<string, string | undefined> = {}): void {
  write()
  location.hash = link(path, query)
}
