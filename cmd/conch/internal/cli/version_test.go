package cli

import (
	"runtime/debug"
	"testing"
)

// What the linker stamped comes first; then what the go command recorded. Nothing is made up.
func TestBuild(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stamped          Build
		recorded, commit string
		want             Build
	}{
		"by make":                         {Build{"v0.1.0-3-gabc", "abcdef012345"}, "(devel)", "", Build{"v0.1.0-3-gabc", "abcdef012345"}},
		"by make, of a clone":             {Build{"v0.1.0", "abcdef012345"}, "v0.1.1-0.20260301120000-ffffffffffff", "ffffffffffffffff", Build{"v0.1.0", "abcdef012345"}},
		"by make, without git":            {Build{"dev", ""}, "(devel)", "", Build{"dev", ""}},
		"of a released module":            {Build{}, "v0.1.0", "", Build{"v0.1.0", ""}},
		"of a release candidate":          {Build{}, "v0.1.0-rc.1", "", Build{"v0.1.0-rc.1", ""}},
		"of a commit":                     {Build{}, "v0.0.0-20260301120000-abcdef012345", "", Build{"v0.0.0-20260301120000-abcdef012345", ""}},
		"of a commit after a tag":         {Build{}, "v0.1.1-0.20260301120000-abcdef012345", "", Build{"v0.1.1-0.20260301120000-abcdef012345", ""}},
		"of a commit after a candidate":   {Build{}, "v0.1.0-rc.1.0.20260301120000-abcdef012345+dirty", "", Build{"v0.1.0-rc.1.0.20260301120000-abcdef012345+dirty", ""}},
		"in a clone":                      {Build{}, "v0.0.0-20260301120000-abcdef012345+dirty", "abcdef0123456789", Build{"v0.0.0-20260301120000-abcdef012345+dirty", "abcdef0123456789"}},
		"by hand, without what git knows": {Build{}, "(devel)", "", Build{"devel", ""}},
		"of nothing":                      {Build{}, "", "", Build{"devel", ""}},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.recorded}}
		if c.commit != "" {
			info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: c.commit}}
		}
		if got := c.stamped.recorded(info); got != c.want {
			t.Errorf("%s it is %+v, want %+v", name, got, c.want)
		}
	}
	if got := (Build{}).recorded(nil); got.Version != "devel" {
		t.Errorf("without a record it is %+v, want devel", got)
	}
}
