package stage

import "encoding/json"

// TOML returns a text as it stands in a configuration: as a JSON string, which is also valid TOML.
func TOML(text string) string {
	out, _ := json.Marshal(text) //nolint:errchkjson // a text has a form
	return string(out)
}
