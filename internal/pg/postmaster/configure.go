//go:build unix

package postmaster

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// configure appends to postgresql.conf rather than use the command line, so that
// a test may still ALTER SYSTEM.
func (s *Server) configure() error {
	conns := s.cfg.MaxConnections
	if conns == 0 {
		conns = defaultConns
	}
	settings := map[string]string{
		"listen_addresses":        "",
		"port":                    strconv.Itoa(s.port),
		"unix_socket_directories": s.socketDir,
		"max_connections":         strconv.Itoa(conns),
		"shared_buffers":          "32MB",
		// Segments under the data folder go with it; under /dev/shm a killed
		// server would leave them behind for ever.
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

// freePort asks the kernel. Somebody may take the port before the server does;
// the server then says so and the start fails, which only tests can meet.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}
