/** Leaves some of the ten connections of a test's pool to its worker. */
const AT_ONCE = 6

/** Works on a few items at a time: one after the other, thousands of requests take three times as long. */
export async function fewAtOnce<Item>(items: Item[], work: (item: Item) => Promise<void>) {
  const queue = [...items]
  const next = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, next))
}
