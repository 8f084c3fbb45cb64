/** Ignores case, accents, and the difference between spaces, underscores and hyphens inside a phrase. */
export const fold = (text: string) =>
  text
    .trim()
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[\s_]+|(?<=\p{L})-(?=\p{L})/gu, ' ')

const words = (text: string) => text.split(',')

/** All of these are listed in docs/contacts.md. The second line of each list is TRUE and FALSE as spreadsheets write them. */
const AFFIRMATIONS = [
  ...words('yes,y,true,t,1,1.0,on,x,✓,✔,ja,j,oui,o,sí,s,sim,tak,ano,da,igen,evet,kyllä,jah,jā,taip,ya,да,так,ναι,כן,نعم,はい,是,예,네'),
  ...words('wahr,vrai,verdadero,vero,verdadeiro,waar,prawda,pravda,sant,sand,sann,tosi,igaz,adevărat,doğru,истина'),
]
const NEGATIONS = [
  ...words(
    'no,n,false,f,0,0.0,off,nein,non,não,nie,ne,nee,nej,nei,ei,nu,nem,hayır,hayir,tidak,нет,не,ні,όχι,לא,لا,いいえ,否,아니오,아니요',
  ),
  ...words('falsch,faux,falso,onwaar,fałsz,nepravda,falskt,falsk,usann,epätosi,hamis,fals,yanlış,yanliş,ложь'),
]
const ON_STATES = words('subscribed,active,enabled,opted in,opt in,confirmed')
const OFF_STATES = [
  ...words('unsubscribed,not subscribed,non subscribed,never subscribed,opted out,opt out,disabled,unconfirmed,pending'),
  ...words(
    'cleaned,bounced,hard bounced,hard bounce,blocklisted,blacklisted,suppressed,complained,complaint,spam complaint,spam,marked as spam,junk',
  ),
  ...words('archived,transactional,cancelled,canceled,deleted'),
]
export const YES_WORDS = [...AFFIRMATIONS, ...ON_STATES]
export const NO_WORDS = [...NEGATIONS, ...OFF_STATES, 'inactive']

const isOneOf = (list: string[]) => {
  const folded = new Set(list.map(fold))
  return (cell: string) => folded.has(fold(cell))
}
export const isNegation = isOneOf(NEGATIONS)
export const isOnState = isOneOf(ON_STATES)
/** A state in which other tools send no emails to a contact. */
export const isOffState = isOneOf(OFF_STATES)
const [isYes, isNo] = [isOneOf(YES_WORDS), isOneOf(NO_WORDS)]

/** Reads a cell of the column `subscribed`; undefined if it is neither yes nor no. */
export function readYesOrNo(cell: string): boolean | undefined {
  return isYes(cell) ? true : isNo(cell) ? false : undefined
}
