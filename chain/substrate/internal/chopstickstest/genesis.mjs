// Writes the chain spec with the runtime beside itself: the only one of its package that has code, statemine 900.
import { writeFileSync } from 'node:fs'
import { rococo_v2_2_asset_hub as spec } from '@substrate/connect-known-chains'

writeFileSync('spec.json', spec)
