// The fragment of the URL is the whole state of a view: a link shows the same.
import { computed, signal } from '@preact/signals'

const fragment = signal(location.hash)
addEventListener('hashchange', () => (fragment.value = location.hash))

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

/** set changes parameters of this view, without a new entry in the browser's history. */
export function set(query: Record<string, string | undefined>): void {
  const all: Record<string, string | undefined> = { ...Object.fromEntries(view.value.query), ...query }
  history.replaceState(null, '', link(view.value.path, all))
  fragment.value = location.hash
}

export function open(path: string, query: Record<string, string | undefined> = {}): void {
  location.hash = link(path, query)
}
