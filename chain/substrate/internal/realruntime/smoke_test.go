//go:build unix
package realruntime
import "testing"
func TestSmoke(t *testing.T) {
	n := Start(t, map[string]uint64{"5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY": 1e18})
	var v map[string]any
	n.Call(&v, "state_getRuntimeVersion")
	t.Log(v["specName"], v["specVersion"], n.Mine())
	said, p := n.Validate([]byte{1,2,3})
	t.Log(said, p)
}
