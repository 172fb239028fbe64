package arch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// outside are the modules that go.work must not list.
var outside = []string{"bench/peers"}

func moduleWalls() []wall {
	full := []string{".", "cmd/conch"}
	return []wall{
		{
			name: "modules: a clean clone builds alone", check: checkNested,
			why: "a nested module builds with GOWORK=off and -mod=readonly only if a replace leads to the modules beside it",
			breaches: []breach{
				{"no replace", modules(full, module{dir: "cmd/conch", requires: []require{{path: modulePath, version: "v0.0.0"}}}), "cmd/conch/go.mod must replace"},
				{"a wrong way up", modules(full, nested("cmd/conch", "..")), "cmd/conch/go.mod must replace"},
				{"a version", modules(full, module{
					dir:      "cmd/conch",
					requires: []require{{path: modulePath, version: "v0.3.0"}},
					replaces: map[string]string{modulePath: "../.."},
				}), "must require " + modulePath + " v0.0.0"},
				{"a foreign replace", modules(full, module{
					dir:      "cmd/conch",
					requires: []require{{path: modulePath, version: "v0.0.0"}},
					replaces: map[string]string{modulePath: "../..", "example.com/fork": "../fork"},
				}), "must not replace example.com/fork"},
			},
		},
		{
			name: "modules: the root is light", check: checkRootModule,
			why: "users who import one wing download everything that the root module requires",
			breaches: []breach{
				{"a heavy library", modules([]string{"."}, module{dir: ".", requires: []require{{path: "github.com/ethereum/go-ethereum", version: "v1.17.10"}}}), "must not require github.com/ethereum/go-ethereum"},
				{"a replace", modules([]string{"."}, module{dir: ".", replaces: map[string]string{"example.com/fork": "./fork"}}), "must not replace example.com/fork"},
			},
		},
		{
			name: "modules: go.work lists the house", check: checkWork,
			why: "a module that is not in go.work is never tested, and a peer of the benchmark in it would raise versions inside the binary",
			breaches: []breach{
				{"forgotten", modules([]string{"."}, nested("chain/evm", "../..")), "go.work must list chain/evm"},
				{"a peer", modules([]string{".", "bench/peers"}, nested("bench/peers", "../..")), "go.work must not list bench/peers"},
			},
		},
	}
}

func modules(work []string, list ...module) house { return house{work: work, modules: list} }

func checkNested(h house) (complaints []string) {
	for _, m := range h.modules {
		if m.dir == "." {
			continue
		}
		for _, r := range m.requires {
			own, isOwn := folderOf(r.path)
			if !isOwn {
				continue
			}
			if r.version != "v0.0.0" {
				complaints = append(complaints, fmt.Sprintf("%s/go.mod must require %s v0.0.0, not %s", m.dir, r.path, r.version))
			}
			if to := m.replaces[r.path]; path.Join(m.dir, to) != own || to == "" {
				complaints = append(complaints, fmt.Sprintf("%s/go.mod must replace %s by the relative way to %s", m.dir, r.path, own))
			}
		}
		for from := range m.replaces {
			if _, isOwn := folderOf(from); !isOwn {
				complaints = append(complaints, fmt.Sprintf("%s/go.mod must not replace %s", m.dir, from))
			}
		}
	}
	slices.Sort(complaints)
	return complaints
}

func folderOf(modPath string) (string, bool) {
	if modPath == modulePath {
		return ".", true
	}
	return strings.CutPrefix(modPath, modulePath+"/")
}

func checkRootModule(h house) (complaints []string) {
	for _, m := range h.modules {
		if m.dir != "." {
			continue
		}
		for _, r := range m.requires {
			if l, known := findLibrary(r.path); !r.indirect && (!known || !l.root) {
				complaints = append(complaints, "the root go.mod must not require "+r.path)
			}
		}
		for from := range m.replaces {
			complaints = append(complaints, "the root go.mod must not replace "+from)
		}
	}
	return complaints
}

func checkWork(h house) (complaints []string) {
	for _, m := range h.modules {
		listed, barred := slices.Contains(h.work, m.dir), slices.Contains(outside, m.dir)
		if !listed && !barred {
			complaints = append(complaints, "go.work must list "+m.dir)
		}
		if listed && barred {
			complaints = append(complaints, "go.work must not list "+m.dir)
		}
	}
	return complaints
}
