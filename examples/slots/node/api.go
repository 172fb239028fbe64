package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/conchhq/conch/examples/slots"
	"github.com/conchhq/conch/sequencer"
)

// api returns what serves this organisation's own users.
func (o *organisation) api(node *sequencer.Node) func(context.Context) error {
	routes := http.NewServeMux()
	routes.HandleFunc("POST /requests/{key}", func(w http.ResponseWriter, r *http.Request) { o.request(node, w, r) })
	routes.HandleFunc("GET /slots/{day}/{slot}", func(w http.ResponseWriter, r *http.Request) { o.slot(node, w, r) })
	return func(ctx context.Context) error {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.API)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: routes, ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
		slog.Info("serving this organisation's users", slog.String("api", listener.Addr().String()))
		cut := context.AfterFunc(ctx, func() { _ = server.Close() })
		defer cut()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
}

// request carries something out. The key makes a repetition harmless: ask again after any doubt.
func (o *organisation) request(node *sequencer.Node, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err == nil {
		_, err = node.Submit(r.Context(), o.Contract, r.PathValue("key"), body, 0)
	}
	var refused *sequencer.RequestError
	switch {
	case errors.As(err, &refused):
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case errors.Is(err, sequencer.ErrConflict):
		http.Error(w, err.Error(), http.StatusConflict)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	result, err := node.Wait(r.Context(), o.Contract, r.PathValue("key"))
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case !result.Confirmed:
		_, _ = fmt.Fprintln(w, "reverted:", result.Why)
	default:
		_, _ = fmt.Fprintln(w, "confirmed in block", result.Block)
	}
}

// slot says who holds a slot.
func (o *organisation) slot(node *sequencer.Node, w http.ResponseWriter, r *http.Request) {
	slot, err := strconv.Atoi(r.PathValue("slot"))
	if err != nil {
		http.Error(w, "a slot is a number", http.StatusBadRequest)
		return
	}
	states, err := node.States(r.Context(), o.Contract, slots.Label(r.PathValue("day"), slot), 1)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	for _, s := range states {
		if holder, is := slots.HolderOf(s.Data); is {
			_, _ = fmt.Fprintln(w, holder)
			return
		}
	}
	http.Error(w, "no such slot", http.StatusNotFound)
}
