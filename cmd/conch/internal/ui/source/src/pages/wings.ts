// The pages of services, which are loaded at once, as those of rows.
export { Page as Contracts } from './contracts'
export { Page as Logs } from './logs'
export { Page as Overlay } from './overlay'
