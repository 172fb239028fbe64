package ui_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

// workStands has a node stand in a way, on all its pages.
func workStands(n *node, is string) {
	stand(n, is)
	switch is {
	case "well":
		n.busy()
	case "trouble":
		n.troubled()
	}
}

// Rule 7: axe-core finds nothing serious on these pages either, nor in what asks before it acts.
func TestAxeFindsNothingSeriousAtWork(t *testing.T) {
	t.Parallel()
	n := watched(t)
	stands := []string{"trouble", "stale"}
	if runtest.Whole() {
		stands = append(stands, "well")
	}
	for _, as := range axed() {
		b := open(t, n.URL+"/#/crons", as)
		for _, is := range stands {
			workStands(n, is)
			b.at("#/crons")
			b.says(map[string]string{"well": "All 3 crons run", "trouble": "2 of 7 crons need somebody", "stale": "Not known: the database has not answered"}[is])
			for name, hash := range workPages {
				b.at(hash)
				b.settled()
				b.serious(name + " " + is)
			}
		}
		workStands(n, "trouble")
		for hash, button := range map[string]string{"#/crons": "Run now…", "#/jobs/j?id=1600": "Try again…", "#/dead": "Discard 2,347…"} {
			b.at(hash)
			b.press(button)
			b.until("it asks", "document.querySelector('dialog[open]')")
			b.serious("the question on " + hash)
			b.press("Leave it")
		}
	}
}

// settled waits until the page has drawn what it asked for.
func (b *tab) settled() {
	b.t.Helper()
	b.until("its heading is there, and nothing is asked for", "document.querySelector('main h1, main h2') && !/sking the node|may take some|Loading this page/.test(document.querySelector('main').innerText)")
	js[bool](b, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
}

// Pictures of these pages, for people to look at.
func TestWorkPictures(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CONCH_PICTURES")
	if dir == "" {
		t.Skip("nobody wants pictures: CONCH_PICTURES names a folder for them")
	}
	n := watched(t)
	for name, as := range looks {
		for _, is := range []string{"well", "trouble", "stale"} {
			workStands(n, is)
			if is == "stale" {
				n.troubled()
				n.away(0)
			}
			b := open(t, n.URL+"/#/nodes", as)
			for page, hash := range workPages {
				if page == "job" && is == "well" {
					hash = "#/jobs/j?id=5027" // one that is done
				}
				b.at(hash)
				b.settled()
				if is == "stale" {
					n.away(43e9)
					b.says("Not known: the database has not answered")
				}
				b.picture(filepath.Join(dir, fmt.Sprintf("%s-%s-%s.png", page, is, name)))
				n.away(0)
			}
			b.close()
		}
	}
	empty := newNode(t, "/")
	for name, as := range fewLooks {
		b := open(t, empty.URL+"/", as)
		for _, page := range []string{"nodes", "crons", "jobs", "dead"} {
			b.at(workPages[page])
			b.settled()
			b.picture(filepath.Join(dir, page+"-empty-"+name+".png"))
		}
	}
}
