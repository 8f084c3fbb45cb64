/** Without case, accents, and the difference between spaces, underscores and hyphens inside a phrase. */
export const fold = (text: string) =>
  text
    .trim()
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[\s_]+|(?<=\p{L})-(?=\p{L})/gu, ' ')

const words = (...lists: string[]) => new Set(lists.flatMap((list) => list.split(',')).map(fold))

/** docs/contacts.md lists them. The second line of each is how spreadsheets write TRUE and FALSE in other languages. */
const AFFIRMATIONS = words(
  'yes,y,true,t,1,1.0,on,x,✓,✔,ja,j,oui,o,si,sí,s,sim,tak,ano,áno,da,igen,evet,kyllä,jah,jā,taip,ya,да,так,ναι,כן,نعم,はい,是,예,네',
  'wahr,vrai,verdadero,vero,verdadeiro,waar,prawda,pravda,sant,sand,sann,tosi,igaz,adevărat,doğru,истина',
)
const NEGATIONS = words(
  'no,n,false,f,0,0.0,off,nein,non,não,nao,nie,ne,nee,nej,nei,ei,nu,nem,hayır,hayir,nē,tidak,нет,не,ні,όχι,לא,لا,いいえ,否,아니오,아니요',
  'falsch,faux,falso,onwaar,fałsz,falsz,nepravda,falskt,falsk,usann,epätosi,hamis,fals,yanlış,yanlis,ложь',
)
const ON_STATES = words('subscribed,active,enabled,opted in,opt in,confirmed')
const OFF_STATES = words(
  'unsubscribed,not subscribed,non subscribed,never subscribed,opted out,opt out,disabled,unconfirmed',
  'cleaned,bounced,hard bounced,hard bounce,blocklisted,blacklisted,suppressed,complained,complaint,spam complaint,spam,junk',
)

export const isNegation = (cell: string) => NEGATIONS.has(fold(cell))
export const isOnState = (cell: string) => ON_STATES.has(fold(cell))
/** A state in which other tools send nothing to a contact. */
export const isOffState = (cell: string) => OFF_STATES.has(fold(cell))

/** A cell of the column `subscribed`; undefined when it means neither. */
export function readYesOrNo(cell: string): boolean | undefined {
  const word = fold(cell)
  if (AFFIRMATIONS.has(word) || ON_STATES.has(word)) return true
  return NEGATIONS.has(word) || OFF_STATES.has(word) || word === 'inactive' ? false : undefined
}
