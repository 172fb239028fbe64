package receiver

import (
	"context"
	"net/http"
)

// heart is the address of somebody outside who misses a call.
type heart struct{ url string }

func (h heart) tell(ctx context.Context, w *way, _ *Words) outcome {
	return w.post(func(client *http.Client) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url, http.NoBody)
		if err != nil {
			return err
		}
		return send(client, req, "")
	})
}
