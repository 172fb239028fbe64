package keyservicetest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/conchhq/conch/chain/keyservice"
)

// vault speaks the API of the transit engine, and has a type of key that Vault's own does not have.
type vault struct{}

func (vault) verify(_ *StandIn, r *http.Request, _ []byte) (string, string) {
	if r.Header.Get("X-Vault-Token") != Token || r.Header.Get("X-Vault-Namespace") != Namespace || r.Header.Get("X-Vault-Request") != "true" {
		return "the token or the namespace is wrong", ""
	}
	return "", ""
}

func (vault) read(_ *StandIn, r *http.Request, body []byte) (operation, []byte) {
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/transit/keys/payouts":
		return showKey, nil
	case "PUT /v1/transit/sign/payouts":
		var asked struct {
			Input       []byte
			Prehashed   bool
			Marshalling string `json:"marshaling_algorithm"`
		}
		if json.Unmarshal(body, &asked) == nil && asked.Prehashed && asked.Marshalling == "asn1" {
			return sign, asked.Input
		}
	}
	return none, nil
}

func (vault) key(_ *StandIn, public []byte) any {
	return map[string]any{"data": map[string]any{
		"type": "ecdsa-secp256k1", "latest_version": 2, "supports_signing": true,
		"keys": map[string]any{"1": map[string]string{"public_key": "old"}, "2": map[string]string{"public_key": inPEM(public)}},
	}}
}

func (vault) signed(_ *StandIn, signature []byte) any {
	return map[string]any{"data": map[string]any{"signature": "vault:v2:" + base64.StdEncoding.EncodeToString(signature), "key_version": 2}}
}

func (vault) fault(kind keyservice.Kind, _, text string) (int, any) {
	status, why := map[keyservice.Kind]int{
		keyservice.Throttled: http.StatusTooManyRequests, keyservice.Denied: http.StatusForbidden, keyservice.Away: http.StatusServiceUnavailable, keyservice.Missing: http.StatusNotFound,
	}[kind], map[keyservice.Kind]string{
		keyservice.Disabled: "key has been soft-deleted", keyservice.Unfit: "key type ecdsa-p256 does not support this", keyservice.Refused: "invalid request",
	}[kind]
	if status == 0 {
		status = http.StatusBadRequest
	}
	return status, map[string][]string{"errors": {why, text}}
}
