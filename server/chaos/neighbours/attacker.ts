import { type Attacker, attack, type Order } from './attacks.ts'
import { type Besieger, besiege, type SiegeOrder } from './sieges.ts'

// A separate process, so that generating the load does not slow down the clients that measure.
const attacker = JSON.parse(process.argv[2]!) as Attacker & Besieger
const carryOut = (order: Order | SiegeOrder) => ('siege' in order ? besiege(attacker, order) : attack(attacker, order))
process.on('message', async (order: Order | SiegeOrder) => process.send!(await carryOut(order)))
process.send!('ready')
