package fence_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
)

func TestBoottimeIsUptime(t *testing.T) {
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Skip(err)
	}
	seconds, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	up := time.Duration(seconds * float64(time.Second))
	if d := time.Duration(fence.Boottime()) - up; d < -2*time.Second || d > 2*time.Second {
		t.Errorf("CLOCK_BOOTTIME and /proc/uptime differ by %s, want 2s at most", d)
	}
}
