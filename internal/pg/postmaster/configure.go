//go:build unix

package postmaster

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// configure appends to postgresql.conf. Settings on the command line would override
// ALTER SYSTEM, which tests use.
func (s *Server) configure() error {
	conns := cmp.Or(s.cfg.MaxConnections, defaultConns)
	settings := map[string]string{
		"listen_addresses":        "",
		"port":                    strconv.Itoa(s.port),
		"unix_socket_directories": s.socketDir,
		"max_connections":         strconv.Itoa(conns),
		"shared_buffers":          "32MB",
		// In /dev/shm a killed server would leave its segments behind for ever.
		"dynamic_shared_memory_type": "mmap",
		"logging_collector":          "off",
		"log_line_prefix":            "%m [%p] %a ",
		"timezone":                   "UTC",
		"fsync":                      onOff(s.cfg.Fsync),
		"full_page_writes":           onOff(s.cfg.Fsync),
	}
	if s.cfg.TCP {
		settings["listen_addresses"] = "127.0.0.1"
	}
	maps.Copy(settings, s.cfg.Settings)

	var text strings.Builder
	text.WriteString("\n# conch: a private server, removed when its program ends\n")
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s = '%s'\n", name, strings.ReplaceAll(settings[name], "'", "''"))
	}
	return appendTo(filepath.Join(s.data(), "postgresql.conf"), text.String())
}

func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

const (
	// lowestPort is above the ports of well-known services.
	lowestPort = 20_000
	// ephemeralPort is the lowest port that Linux by default chooses itself.
	ephemeralPort = 32_768
	portTries     = 50
)

// freePort picks a free port below the ephemeral ports. The kernel might give an ephemeral
// port to another process before the server binds it, or while it is down after Kill9.
func freePort() (port int, err error) {
	room := firstEphemeral() - lowestPort
	if room <= 0 {
		return portIfFree(0) // every port is ephemeral
	}
	for range portTries {
		port, err = portIfFree(lowestPort + rand.IntN(room)) //nolint:gosec // to keep out of each other's way, not to hide anything
		if err == nil {
			break
		}
	}
	return port, err
}

func firstEphemeral() int {
	text, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range") // missing on other systems
	low, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\t")
	first, err := strconv.Atoi(low)
	if err != nil {
		return ephemeralPort
	}
	return first
}

// portIfFree returns port if it is free, or for 0 a port of the kernel's choice.
func portIfFree(port int) (int, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return 0, err
	}
	_, free, err := net.SplitHostPort(listener.Addr().String())
	if err := errors.Join(err, listener.Close()); err != nil {
		return 0, err
	}
	return strconv.Atoi(free)
}
