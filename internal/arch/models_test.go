package arch

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

var (
	ruleRemoved = regexp.MustCompile(`\bNO_[A-Z_]+\b`)
	modelRun    = regexp.MustCompile(`(?m)^(?:day|small|full)\s+(\S+)\s+(\S+)`)
)

func modelRules() []wall {
	const script, model, paper = "scripts/model.sh", "model/m.pml", "model/README.md"
	return []wall{{
		name: "a rule of a model is removed in a run, and each run is on the page", check: checkModels,
		why: "a rule that nobody takes out is not known to be needed, and a run that no page explains is a riddle",
		breaches: []breach{
			{"no run", sources(file{model, "#ifdef NO_WAITING\n"}, file{script, ""}, file{paper, ""}), "model/m.pml has NO_WAITING, which no run of scripts/model.sh removes"},
			{"no words", sources(file{script, "day    waiting   one_actor -DNO_WAITING\n"}, file{paper, ""}), "model/README.md does not name the run waiting"},
		},
	}}
}

func checkModels(h house) (complaints []string) {
	var script, paper string
	for _, f := range h.files {
		switch f.path {
		case "scripts/model.sh":
			script = f.text
		case "model/README.md":
			paper = f.text
		}
	}
	for _, f := range h.files {
		if path.Ext(f.path) != ".pml" {
			continue
		}
		seen := map[string]bool{}
		for _, rule := range ruleRemoved.FindAllString(f.text, -1) {
			if !seen[rule] && !regexp.MustCompile("-D"+rule+`\b`).MatchString(script) {
				complaints = append(complaints, fmt.Sprintf("%s has %s, which no run of scripts/model.sh removes", f.path, rule))
			}
			seen[rule] = true
		}
	}
	for _, run := range modelRun.FindAllStringSubmatch(script, -1) {
		if !strings.Contains(paper, "`"+run[1]+"`") {
			complaints = append(complaints, "model/README.md does not name the run "+run[1])
		}
	}
	return complaints
}
