// Pages that are loaded when they are opened first, so that the first screen needs little.
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { Banner } from './parts'

type Page = () => JSX.Element

/** later returns a page that is loaded when it is drawn first. */
export function later(load: () => Promise<Page>): Page {
  const state = signal<{ Page: Page | null; fault: boolean }>({ Page: null, fault: false })
  let asked = false
  const begin = () => {
    asked = true
    if (state.peek().fault) state.value = { Page: null, fault: false }
    load().then((Page) => (state.value = { Page, fault: false }), () => (state.value = { Page: null, fault: true }))
  }
  return function Later() {
    const { Page, fault } = state.value
    if (Page) return <Page />
    if (!asked) begin()
    if (!fault) return <Banner tone="calm" sign="…" text="Loading this page" />
    return (
      <Banner tone="unknown" sign="?" text="This page could not be loaded">
        The node did not answer, or it was upgraded since this tab was opened. <span class="buttons"><button type="button" onClick={begin}>Try again</button><button type="button" onClick={() => location.reload()}>Load all anew</button></span>
      </Banner>
    )
  }
}
