package arch

import "strings"

func serviceWalls() []wall {
	return []wall{
		{
			name: "1 only the list of services knows them", check: checkServices,
			why: "a wing is then added to the node, or left out, with one folder and one line",
			breaches: []breach{
				{"a frame", rooms(room("./cmd/conch/internal/web", services+"/files")), "./cmd/conch/internal/web must not import " + services + "/files"},
				{"the node", rooms(room("./cmd/conch/internal/node", services+"/roles")), "./cmd/conch/internal/node must not import"},
				{"a service", rooms(room(services+"/files", services+"/roles")), services + "/files must not import"},
				{"a test of a service", rooms(room(services + "/files").tested(services + "/roles")), "the tests of " + services + "/files must not import"},
				{"a program", rooms(room(binary, services+"/files")), binary + " must not import " + services + "/files"},
				{"the list in a frame", rooms(room("./cmd/conch/internal/cli", services)), "./cmd/conch/internal/cli must not import " + services},
				{"the laboratory", rooms(room(lab+"/worker", services+"/roles")), lab + "/worker must not import"},
			},
		},
	}
}

func checkServices(h house) (complaints []string) {
	own := func(path string) string {
		name, _, _ := strings.Cut(strings.TrimPrefix(path, services+"/"), "/")
		return services + "/" + name
	}
	for _, p := range h.packages {
		for _, to := range p.imports {
			if inside(to, services) && !mayKnow(p.path, to) && !inside(p.path, own(to)) {
				complaints = append(complaints, p.path+" must not import "+to)
			}
		}
		for _, to := range p.testImports {
			if inside(to, services) && inside(p.path, services) && !inside(p.path, own(to)) {
				complaints = append(complaints, "the tests of "+p.path+" must not import "+to)
			}
		}
	}
	return complaints
}

// mayKnow reports whether a package may import a service: the list has all of them, and the programs have the list.
func mayKnow(from, to string) bool {
	if to == services {
		return from == binary || from == laboratory
	}
	return from == services
}
