package service

import "github.com/conchhq/conch/cmd/conch/internal/service/schedule"

// Slots opens the slots of conch cron.
var Slots = schedule.OpenSlots
