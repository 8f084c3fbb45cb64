import { type Attacker, attack, type Order } from './attacks.ts'

// A separate process, so that generating the load does not slow down the clients that measure.
const attacker = JSON.parse(process.argv[2]!) as Attacker
process.on('message', async (order: Order) => process.send!(await attack(attacker, order)))
process.send!('ready')
